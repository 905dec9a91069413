"""The log of a session: writing, loading, masking of secrets, questions, lists, checks, import and export."""
