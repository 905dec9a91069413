"""What a shell command would do, read without running it."""
