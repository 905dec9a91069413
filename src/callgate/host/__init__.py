"""Side effects on the machine: files, processes, threads, artifacts, time."""
