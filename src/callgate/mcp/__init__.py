"""Client for servers of the Model Context Protocol. The gate decides calls of their tools like all other calls.

server_config     parse the configuration of servers from files and flags
tool_definitions  limit, clean and compare the definitions of tools; make their names valid and unique
approvals         store approved definitions in the data folder; ask about changed ones
server            keep one server connected; ``server_questions`` asks the user the questions of the server
server_requests   send requests to a server, and convert the answers to Results
server_tool       the tools and prompts of a server
server_list       all servers of a session as a source of tools, also while they are being connected
server_context    the state of a server, and what it needs from the session
link              the connection on the SDK, over ``stdio_transport`` or ``http_transport``
oauth             log in to servers; ``server_log`` writes the log file
mcp_feature       the feature ``mcp`` of a session

The package ``mcp`` (the SDK) is imported only when the first server connects: ``link`` and its imports are then loaded
in a thread. See docs/decisions/0046-mcp.md.
"""

PROJECT_FILE, OWN_FILE = ".mcp.json", "mcp.json"
"""The configuration files of a project and of a user."""
