"""The sessions of clients, made of the settings of the workspace."""

from collections.abc import Sequence

from callgate import Store
from callgate.assembly.serving import served_session, served_tools, staging_names
from callgate.config import Config
from callgate.mcp_server.calls import ServedSession
from callgate.mcp_server.client_model import ClientModel
from callgate.mcp_server.sessions import OpenSession
from callgate.words.inputs import SetTitle


def session_opener(config: Config, names: Sequence[str] | None, store: Store | None) -> OpenSession:
    """Makes sessions with the tools of these names, kept in the store if there is one."""

    async def open_session(client: str) -> ServedSession:
        tools, _ = await served_tools(config, names)  # anew: some remember something of their session
        model = ClientModel(f"mcp/{client}", staging_names(tools))
        session = served_session(config, model, tools, None if store is None else await store.create())
        session.post(SetTitle(f"MCP: {client}"))
        return ServedSession(session, model)

    return open_session
