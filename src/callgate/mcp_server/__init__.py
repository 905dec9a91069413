"""The door through which programs that speak MCP call our tools: `callgate mcp serve`. See docs/decisions/0046.

    client_model  the client as the model of a session: its calls are the messages
    calls         one session of a client: calls in, their progress, questions and results out
    sessions      the sessions of all clients, by connection
    opening       makes them of the settings
    asked         questions that a client was sent, until it comes back with an answer
    questions     a question as a form, and the answer in it
    protocol      tools and results in the words of the protocol
    server        the requests of clients, in both eras of the protocol
    http          the server on a loopback port, behind a token

Only ``protocol``, ``server`` and ``http`` import the SDK, which takes long to load: import them when serving begins.
"""
