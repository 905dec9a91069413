"""The handlers of client requests: list of tools, calls, progress, questions, cancels.

Questions are sent to the user of the client. With protocol versions up to 2025-11-25 the server sends the client a
request while the call waits. With version 2026-07-28 a server sends no requests: the call ends with the question, and
the client calls again with the answer. The answer is used if the question is still the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from callgate import __version__
from callgate.formats.display import visible
from callgate.mcp_server.protocol import result_of, tools_of
from callgate.mcp_server.questions import answer_of, hash_of, message_of, schema_of, unasked
from callgate.mcp_server.served_session import ServedCall, ServedSession, ServedSessions
from callgate.words.calls import Result
from callgate.words.decisions import Question
from callgate.words.events import CallProgressed
from callgate.words.pending import RESOLVE

Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "Files, commands and pages of the workspace {root}. Each call is checked against the rules of the "
    "workspace and may "
    "need the approval of the user. Edits are shown first: the result has a diff and an id, and `resolve` with "
    "that id applies or "
    "discards exactly this change."
)
MOST_ASKED = 1_000
"""Maximum number of questions without an answer; older questions expire."""
_INPUT = "question"  # name of the input that the client has to provide
_WHICH = "Pass the id of the action, which the result of the staging call contains."
_AGAIN = "The question was sent to the client, which repeats the call with the answer."


class McpToolServer:
    """An MCP server with the tools of the workspace ``root``. ``server`` is the SDK server for any transport."""

    def __init__(self, sessions: ServedSessions, root: str) -> None:
        self._sessions = sessions
        self._root = root
        self._asked: dict[str, str] = {}  # hashes of the questions sent to clients, by state
        self.server = Server[Any](
            "callgate",
            version=__version__,
            title="Callgate",
            instructions=INSTRUCTIONS.format(root=visible(root)),
            get_tool_input_schema=lambda name: None,  # no tool has parameters in headers
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        served = await self._served(ctx)
        return ListToolsResult(tools=tools_of(served.session))

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        served = await self._served(ctx)
        if params.name not in served.session.tool_names:
            known = ", ".join(served.session.tool_names)
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {params.name}. Tools: {known}")
        arguments = params.arguments or {}
        if params.name == RESOLVE and not arguments.get("id"):
            return result_of(Result.failed("invalid_arguments", _WHICH, effects="none"))
        given = self._given(params)
        call = served.begin(params.name, arguments)
        try:
            return await self._outcome(ctx, call, given)
        except BaseException:  # a cancel above all
            call.cancel("Cancelled by the client.")
            raise

    async def _served(self, ctx: Context) -> ServedSession:
        served = await self._sessions.of(_key(ctx), _client(ctx))
        if served is None:
            raise MCPError(code=INTERNAL_ERROR, message="Too many clients have a session open; try again later")
        return served

    def _given(self, params: CallToolRequestParams) -> tuple[str, ElicitResult] | None:
        """Return the hash of the earlier question and the answer in the request, or None without an answer. Raise
        MCPError if the state of the request is unknown."""
        if params.request_state is None:
            return None
        question = self._asked.pop(params.request_state, None)  # a state is used for one call
        if question is None:
            raise MCPError(code=INVALID_PARAMS, message="Invalid or expired requestState")
        answer = (params.input_responses or {}).get(_INPUT)
        return (question, answer) if isinstance(answer, ElicitResult) else None

    # ---- one call -----------------------------------------------------------------------------------------------

    async def _outcome(
        self, ctx: Context, call: ServedCall, given: tuple[str, ElicitResult] | None
    ) -> CallToolResult | InputRequiredResult:
        progress, asked = _Progress(ctx), None
        result: Result | None = None
        async with anyio.create_task_group() as asking:
            while result is None:
                outcome = await call.next()
                if isinstance(outcome, CallProgressed):
                    await progress.report(outcome)
                elif isinstance(outcome, Result):
                    result = outcome
                elif not _elicits(ctx):
                    call.answer(unasked(outcome))
                elif ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    asking.start_soon(self._ask, ctx, call, outcome)
                elif given is not None and given[0] == hash_of(outcome):
                    call.answer(answer_of(outcome, given[1].action, given[1].content))
                    given = None
                else:
                    asked = outcome
                    call.cancel(_AGAIN)
            asking.cancel_scope.cancel()
        assert result is not None
        if asked is not None and result.effects == "none":
            return self._question(asked)
        return result_of(result)  # also if another interface answered the question before the cancel

    async def _ask(self, ctx: Context, call: ServedCall, question: Question) -> None:
        try:
            answer = await ctx.session.elicit_form(
                message_of(question, self._root), schema_of(question), related_request_id=ctx.request_id
            )
        except (MCPError, ValidationError) as error:
            call.answer(question.no(f"The client could not ask the user: {error}", by="callgate mcp serve"))
        else:
            call.answer(answer_of(question, answer.action, answer.content))

    def _question(self, question: Question) -> InputRequiredResult:
        form = ElicitRequestFormParams(message=message_of(question, self._root), requested_schema=schema_of(question))
        state = token_urlsafe(24)
        self._asked[state] = hash_of(question)
        if len(self._asked) > MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        return InputRequiredResult(input_requests={_INPUT: ElicitRequest(params=form)}, request_state=state)


class _Progress:
    """The progress reports of one call. The protocol requires increasing numbers, so other values are replaced by a
    counter."""

    def __init__(self, ctx: Context) -> None:
        self._session = ctx.session
        self._last = 0.0

    async def report(self, event: CallProgressed) -> None:
        counted = event.current is not None and event.current > self._last
        self._last = event.current if counted and event.current is not None else self._last + 1
        await self._session.report_progress(self._last, event.total if counted else None, visible(event.text) or None)


def _elicits(ctx: Context) -> bool:
    """Return True if the client shows forms. Older clients declare elicitation without a kind."""
    able = ctx.session.client_capabilities
    found = None if able is None else able.elicitation
    return found is not None and (found.form is not None or found.url is None)


def _client(ctx: Context) -> str:
    params = ctx.session.client_params
    return "client" if params is None else visible(params.client_info.name)[:60] or "client"


def _key(ctx: Context) -> str:
    """Return the session key of a request: empty for stdio; over HTTP the session id, or the name of the client with
    a modern protocol version."""
    headers: Mapping[str, str] | None = getattr(ctx.request, "headers", None)
    if headers is None:
        return ""
    session = headers.get("mcp-session-id")
    return (
        f"session {session}"
        if session and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
        else f"client {_client(ctx)}"
    )
