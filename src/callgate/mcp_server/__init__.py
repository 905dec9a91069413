"""The server ``callgate mcp serve``: MCP clients call the tools of a workspace. See docs/decisions/0046.

    served_session  the sessions of all clients, by connection
    questions       questions as forms, and the answers in forms
    protocol        tools and results as types of the protocol
    server          the handlers of client requests, for old and modern protocol versions
    http            the server on a port of this machine, protected by a token

Only ``protocol``, ``server`` and ``http`` import the SDK, which is slow to import. Import these modules when the
server starts.
"""
