"""The server ``callgate mcp serve``: programs that speak MCP call the tools. See docs/decisions/0046.

    served_session  the session of one client
    sessions        the sessions of all clients, by connection
    questions       questions as forms, and the answers in them
    protocol        tools and results as types of the protocol
    server          the requests of clients, in both eras of the protocol
    http            the server on a port of this machine, protected by a token

Only ``protocol``, ``server`` and ``http`` import the SDK, which is slow to import. Import them when serving begins.
"""
