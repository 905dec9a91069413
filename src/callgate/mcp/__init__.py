"""Servers of the Model Context Protocol as a client sees them: configured, connected, their tools put behind the gate.

config       the servers that files and flags name
names        names of servers and tools, made valid and unique
definitions  a tool as its server describes it: bounded, cleaned, hashed, compared
approved     the definitions that were approved, kept in the data folder
tool         a server's tool as a Tool; ``results`` makes a Result of its answer
place        the state of a server, and what it is connected from
mentions     resources that a message mentions, read before the model is asked
server       one server: its status, its task, its tools; ``requests`` are what it is asked, ``watched`` what it read
servers      all servers of a session: the source of their tools
link         the connection itself, on the SDK: ``stdio`` and ``web`` are its transports
bodies       answers of servers on the web, bounded before the SDK reads them
asking       questions of servers to a person; ``login`` is OAuth; ``log`` the log file of a server

Nothing of the package ``mcp`` is imported before a server is configured: ``link`` and what it imports are loaded in a
thread when the first server connects. See docs/decisions/0046-mcp.md.
"""

PROJECT_FILE, OWN_FILE = ".mcp.json", "mcp.json"
"""The files that name servers: in a project, and in the folder of a person's settings."""
