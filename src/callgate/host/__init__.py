"""Every side effect on the machine: files, threads, artifacts, time."""
