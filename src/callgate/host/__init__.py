"""The interface to the machine: files, processes, threads, artifacts and time."""
