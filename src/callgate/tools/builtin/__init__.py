"""Tools that come with Callgate: one file each, its words for the model beside it."""
