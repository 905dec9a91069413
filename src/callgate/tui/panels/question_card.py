"""The card of an open question: a permission, a plan, a question with options, or a sandbox request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from json import dumps, loads
from time import time
from typing import TYPE_CHECKING, Any, cast

from callgate.formats.display import visible
from callgate.formats.shown_paths import home_path, shortened_call, shown_paths, without_path
from callgate.tui.blocks import NoticeBlock
from callgate.tui.commands.slash_servers import server_tools
from callgate.tui.fold_calls import resolve_title
from callgate.tui.keys import Context
from callgate.tui.panels.card_forms import DOOR, AlwaysChoice, FieldsForm
from callgate.tui.panels.panel_page import PanelPage, clip_lines, write_arguments, write_change
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.render.measures import seconds_text
from callgate.tui.route import Card, InputGuard
from callgate.words.decisions import Confirmation, Question, arguments_hash
from callgate.words.inputs import Answer

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def asks_itself(question: Question) -> bool:
    """Return True for a question that an MCP server asks without a call."""
    return not question.is_about_call and question.by.startswith("MCP server ")


class QuestionPanel(Card):
    """A panel for one question.

    counter  returns the number of the card in the queue and the number of all questions, as text
    sent    an answer was sent, so further answers are ignored
    edited  the arguments after the user's changes; an approval is for these arguments
    """

    def __init__(self, terminal: Terminal, question: Question, guard: InputGuard, counter: Callable[[], str]) -> None:
        super().__init__(guard)
        self._terminal = terminal
        self._counter = counter
        self.question = question
        self.sent = False
        self.fault = ""
        self.edited: dict[str, Any] | None = None
        self.view: ScrollPanel | None = None
        self._always: AlwaysChoice | None = None
        self._asker = question.by if asks_itself(question) else ""
        """The MCP server that asks the question."""
        escape = "no answer" if self._asker else "no answer, and stop"
        self._form = FieldsForm(question, escape) if question.asks else None
        self.context: Context = "question" if self._form is None else "selector"
        self._over = self._asks = False
        self._body: tuple[tuple[int, dict[str, Any] | None, str], list[str]] | None = None

    def refused(self, reason: str) -> None:
        """Show that the session rejected the answer; the question is still open."""
        if self.sent:
            self.sent, self.fault = False, reason

    def withdraw(self) -> None:
        """Close the card's views, because the question is closed."""
        self._over = True
        if self.view is not None:
            self._terminal.close_panel(self.view)

    # ---- keys ---------------------------------------------------------------------------------------------------

    def act(self, action: str) -> None:
        if self.sent:
            return
        if self._always is not None:
            self._act_always(self._always, action)
        elif self._form is not None:
            self._act_form(self._form, action)
        else:
            self._act_card(action)

    def _act_card(self, action: str) -> None:
        match action:
            case "yes":
                self._send(self.question.yes(self.edited, door=DOOR))
            case "always":
                self._open_always()
            case "no":
                self._ask("What should it do instead? (optional)", "", self._no)
            case "edit":
                self._edit()
            case "view":
                self._show_all()
            case "cancel" if self.edited is not None:
                self.edited, self.fault = None, ""
            case "cancel":
                self._send(self.question.no(stop=True, door=DOOR))
            case "leave":
                self.guard.leave()
            case _:
                return

    def _act_always(self, always: AlwaysChoice, action: str) -> None:
        match action:
            case "up" | "down":
                always.move(-1 if action == "up" else 1)
            case "left" | "right" | "other":
                always.turn(-1 if action == "left" else 1)
            case "choose":
                self._close_always()
                self._send(always.answer())
            case "cancel":
                self._close_always()
            case _:
                return

    def _act_form(self, form: FieldsForm, action: str) -> None:
        match action:
            case "up" | "down":
                form.move(-1 if action == "up" else 1)
            case "choose":
                form.enter()
            case "other":
                form.skip()
            case "erase":
                form.erase()
            case "cancel" if not form.back():
                self._send(self.question.no(stop=True, door=DOOR))
            case _:
                return
        if form.ready:
            form.ready = False
            self._send(self.question.answered(*form.answers, door=DOOR))

    def typed(self, text: str) -> None:
        text = " ".join(text.splitlines())
        if self._form is not None and not self.sent and text.isprintable():
            self._form.typed(text)

    @property
    def takes_text(self) -> bool:
        return self._form is not None and self._form.takes_text

    def marks(self, text: str) -> bool:
        return self._form is not None and not self.sent and self._form.marks(text)

    def snapshot(self) -> Callable[[], None]:
        assert self._form is not None
        return self._form.snapshot()

    def _send(self, answer: Confirmation) -> None:
        self.sent, self.fault = True, ""
        self._terminal.post(Answer(answer))

    def _no(self, reason: str | None) -> None:
        if reason is None:
            return
        if self._over:
            self._too_late(reason)
        else:
            self._send(self.question.no(reason.strip() or None, door=DOOR))

    def _too_late(self, text: str) -> None:
        if text.strip():
            self._terminal.set_input(text)
        self._terminal.show(NoticeBlock("The question was answered elsewhere; nothing was sent.", "warning"))

    def _ask(self, label: str, initial: str, done: Callable[[str | None], None]) -> None:
        """Ask for a text in the input line. The card receives no keys until the user has answered."""

        def given(text: str | None) -> None:
            self._asks = False
            done(text)

        self._asks = True
        self._terminal.ask_text(label, initial, given)

    def _open_always(self) -> None:
        if not self._remembers:
            changed = self.edited is not None
            self.fault = (
                "Changed arguments can only be allowed once: y."
                if changed
                else 'This is asked every time, so "always" is not possible.'
            )
            return
        config = self._terminal.config
        keeps = config is not None and config.own_data
        kept_in = "" if config is None else home_path(config.data / "policies")
        self._always = AlwaysChoice(self.question, keeps=keeps, kept_in=kept_in)
        self.context, self.fault = "selector", ""

    @property
    def _remembers(self) -> bool:
        """True if the answer can be remembered. False if the user changed the arguments, because a rule would be for
        the original arguments."""
        return bool(self.question.choices) and self.edited is None

    def _close_always(self) -> None:
        self._always, self.context = None, "question"

    # ---- arguments changed by the person --------------------------------------------------------------------------

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.question.arguments if self.edited is None else self.edited

    def _edit(self) -> None:
        """Let the user edit the arguments: a single line in the input line, any other text or JSON in the editor."""
        if not self._exact:
            self.fault = "Secrets are masked in these arguments, so they cannot be changed here."
            return
        name = self._only_text()
        if name and "\n" not in self.arguments[name]:
            self._ask(f"{visible(name)}:", self.arguments[name], lambda text: self._changed(name, text))
        else:
            self._terminal.start(self._edit_outside(name))

    def _only_text(self) -> str:
        """Return the name of the argument to edit: the only text, or the only text in the title of the call. Return
        "" if there is none."""
        texts = [name for name, value in self.arguments.items() if isinstance(value, str)]
        if len(self.arguments) > 1 and self.question.preview is None:
            line, _path = self._face(self.arguments)
            texts = [
                name for name in texts if name == "command" or (self.arguments[name] and self.arguments[name] in line)
            ]
        return texts[0] if len(texts) == 1 and (len(self.arguments) == 1 or self.question.preview is None) else ""

    async def _edit_outside(self, name: str) -> None:
        before = self.arguments[name] if name else dumps(dict(self.arguments), ensure_ascii=False, indent=2)
        after = await self._terminal.edit_text(before, ".txt" if name else ".json")
        if after is None:
            self.fault = "The editor failed; nothing was changed."
        else:
            # Editors add a line feed at the end of a file.
            self._changed(name, after if before.endswith("\n") else after.removesuffix("\n"))
        self._terminal.redraw()

    def _changed(self, name: str, text: str | None) -> None:
        """Replace the argument with this name by the text. Without a name, replace all arguments by the JSON object
        in the text."""
        if text is None:
            return
        if name and self._over:
            self._too_late(text)
            return
        try:
            found: Any = {**self.arguments, name: text} if name else loads(text)
        except (ValueError, RecursionError) as error:
            self.fault = f"Invalid JSON; nothing was changed: {error}"
            return
        if isinstance(found, dict):
            self.fault = ""
            self.edited = None if found == dict(self.question.arguments) else cast(dict[str, Any], found)
        else:
            self.fault = "The arguments must be one JSON object; nothing was changed."

    # ---- lines --------------------------------------------------------------------------------------------------

    @cached_property
    def _exact(self) -> bool:
        question = self.question
        return arguments_hash(question.through or question.tool, question.arguments) == question.arguments_hash

    def _face(self, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """Return the line of the call and the path in the line, both made safe to show."""
        session, tool = self._terminal.session, self.question.through or self.question.tool
        if session is None:
            return visible(tool), ""
        title = resolve_title(self._terminal.fold, tool, arguments)
        if title:
            return visible(shown_paths(title, self._root)), ""
        face = session.controls.face(tool, arguments)
        return visible(face.line), visible(face.path)

    @property
    def _root(self) -> str:
        return "" if self._terminal.session is None else self._terminal.session.controls.root

    def lines(self, width: int, height: int) -> Sequence[str]:
        """Return head, body and keys of the card. The body is shortened to the remaining height."""
        theme = self._terminal.theme
        head, body, foot, low = (PanelPage(theme, width) for _ in range(4))
        self._write_head(head)
        if self._asker:
            for line in self.question.reason.split("\n"):
                body.words(line)
        elif self._form is None:
            body.lines = self._body_lines(width)
        elif set(self.question.arguments) != {"questions"}:  # the form shows these arguments
            write_arguments(body, self.question.arguments)
        self._write_foot(foot)
        if len(head.lines) + len(foot.lines) >= height:
            self._write_foot(low, brief=True)
            foot = low
        room = max(height - len(head.lines) - len(foot.lines), 1)
        more = " (d shows all)" if self._form is None and self._always is None else ""
        lines = [*head.lines, *clip_lines(body.lines, room, more, theme), *foot.lines]
        # On a low screen, keep the title and the keys.
        return lines if len(lines) <= height else [head.lines[1], *lines[len(lines) - height + 1 :]]

    def _write_head(self, page: PanelPage) -> None:
        question = self.question
        page.rule()
        page.line(f"? {self._title(page)}", "bold yellow", self._counter())
        if question.path:
            page.words(f"asked by the agent {' > '.join(question.path)}", "cyan")
        origin = f" ({question.origin})" if question.origin is not None and str(question.origin) else ""
        why = shown_paths(question.why if question.choices else question.reason, self._root)
        if self._form is None and not self._asker:
            why = without_path(why, self._face(self.arguments)[1])
        because = f"{question.by}{shown_paths(origin, self._root)}: {why}".rstrip(": ")
        if not self._asker and (self._form is None or origin):  # the reason would only say that the user must answer
            page.words(because, "grey")
        if question.risk:
            page.words(f"risk: {question.risk}", "red")
        if question.deadline is not None:
            left = max(question.deadline - time(), 0)
            page.words(f"denied automatically in {seconds_text(left)}", "yellow")
        if not self._exact:
            page.words("Secrets are masked here.", "yellow")

    def _title(self, page: PanelPage) -> str:
        if self._form is not None or self._asker:
            return f"The {self._asker or 'agent'} asks you"
        line, path = self._face(self.arguments)
        end = "" if self.edited is None else " (with your changes)"
        room = page.width - len(f"? Allow {end}  {self._counter()}")
        return f"Allow {shortened_call(line, path, room, page.theme.more)}{end}"

    def _shown_path(self, page: PanelPage) -> str:
        """Return the path of the call if the title contains the whole path, otherwise an empty string."""
        path = "" if self._form is not None or self._asker else self._face(self.arguments)[1]
        return path if path in self._title(page) else ""

    def _body_lines(self, width: int) -> list[str]:
        key = (width, self.edited, self._counter())
        if self._body is None or self._body[0] != key:
            page = PanelPage(self._terminal.theme, width)
            self._write_body(page)
            self._body = key, page.lines
        return self._body[1]

    def _write_body(self, page: PanelPage) -> None:
        path = self._shown_path(page)
        if self.question.preview is None or self.edited is not None:
            write_arguments(page, self.arguments, self._root, path)
        if self.question.preview is not None:
            if self.edited is not None:
                page.words("The diff of the call before your changes:", "grey")
            write_change(page, self.question.preview, self._root, path)

    def _write_foot(self, page: PanelPage, *, brief: bool = False) -> None:
        if self.fault:
            page.words(self.fault, "red")
        form = self._always or self._form
        if form is not None:
            form.write(page, brief=brief)
        if self.sent:
            page.words("Your answer is being sent.", "grey")
        elif not self._asks:
            page.card_keys(self._terminal.receiver, self._keys() if form is None else form.keys(page))

    def _keys(self) -> Sequence[tuple[str, str]]:
        if self._asker:
            return [("y", "yes"), ("n", "no"), ("Esc", "no")]
        always = [("a", "always")] if self._remembers else []
        back = ("Esc", "discard your changes") if self.edited is not None else ("Esc", "no, and stop")
        return [("y", "yes"), *always, ("n", "no"), ("e", "edit"), ("d", "details"), back]

    def _show_all(self) -> None:
        def write(page: PanelPage) -> None:
            self._write_server_tool(page)
            write_arguments(page, self.arguments)
            if self.question.preview is not None:
                page.rule()
                write_change(page, self.question.preview)

        self.view = ScrollPanel(self._terminal, self._title(PanelPage(self._terminal.theme, 200)), write)
        self._terminal.open_panel(self.view)

    def _write_server_tool(self, page: PanelPage) -> None:
        session = self._terminal.session
        server, said = ("", "") if session is None else server_tools(session).get(self.question.tool, ("", ""))
        if server:
            page.words(f"A tool of the MCP server {server}, described as:", "grey")
            for line in (said or "nothing").split("\n"):
                page.words(line, indent=4)
            page.rule("arguments")
