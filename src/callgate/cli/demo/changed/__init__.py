"""The tenth act: a rewrite is shown, meets a file that has changed, is killed half-way, finished, and taken back."""
