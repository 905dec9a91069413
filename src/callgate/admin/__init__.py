"""Functions that all interfaces share: sessions, MCP servers, settings, checks. They call the packages of layer 2
and ``assembly``, and block."""
