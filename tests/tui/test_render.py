"""Blocks as lines: golden pictures in plain text, at 60 columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.config import load_config
from callgate.core import outcomes
from callgate.formats.columns import clipped
from callgate.formats.columns import width as width_of
from callgate.policy.setting_kinds import THEME
from callgate.session.controls import CallFace
from callgate.tui.blocks import (
    ActionBlock,
    Block,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    TextBlock,
    ThinkingBlock,
)
from callgate.tui.render import Painter
from callgate.tui.render.spans import cut, wrapped
from callgate.tui.theme import STATUSES, Theme, ThemeName, theme_for
from callgate.words.calls import CODES, Display, Result, Status
from callgate.words.decisions import Deny
from callgate.words.events import RunEnded
from callgate.words.messages import Text
from tests.rows import rows
from tests.tui.fakes import plain_face

MONO = Theme("mono", colours=False)
PLAIN = Theme("mono", colours=False, unicode=False)
DIFF = """diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -8,3 +8,4 @@ def main():
 import os
-x = 1
+x = 2
+y = "three"
 print(x)
"""
TREE = {"label": "a", "children": [{"label": "b", "children": [{"label": "c"}]}, {"label": "d"}]}
ANSWER = """# Plan
Some **bold**, `code` and a [link](https://example.com/a).

3. one
3. two
   - [x] nested, with a text that is too long for one line of it
   - [ ] open

| Name | Size |
|:-----|-----:|
| a<br>b | 12 |

> quoted

```python
def f(): ...
```
<b>html</b> \x1b[31m\u202e [hidden](javascript:alert)
"""


def shown(
    block: Block, width: int = 60, theme: Theme = MONO, icon: str = "run", now: float = 3.0, **options: bool
) -> str:
    def face(name: str, arguments: object) -> CallFace:
        return plain_face(f"{name}({', '.join(map(str, dict(arguments).values()))})", icon)  # type: ignore[call-overload]

    return "\n".join(Painter(theme, width, face).lines(block, now, **options))


def call(status: Status = Status.SUCCESS, **given: Any) -> CallBlock:
    made = CallBlock("c1", "Bash", {"command": "npm test"}, status=status, joined=True)
    return replace(made, **given)


def test_markdown_has_a_form_without_colours() -> None:
    assert (
        shown(TextBlock("t", ANSWER))
        == """
# Plan
Some **bold**, `code` and a link (https://example.com/a).

3. one
4. two
   ☑ nested, with a text that is too long for one line of it
   ☐ open

Name │ Size
─────┼─────
a    │   12
b    │

│ quoted

─── python
def f(): ...
───
<b>html</b> <U+001B>[31m<U+202E> [hidden](javascript:alert)"""
    )


def test_markdown_has_a_form_in_ascii_and_at_20_columns() -> None:
    text = shown(TextBlock("t", ANSWER + "“q” — 中文 ✓"), 20, PLAIN)
    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 20
    assert '"q" -- ?? +' in text


def test_long_lines_of_code_are_not_broken_in_finished_output() -> None:
    code = "echo " + "x" * 80
    painter = Painter(MONO, 60, lambda name, _: plain_face(name), unbroken=True)
    assert code in painter.lines(TextBlock("t", f"```sh\n{code}\n```\n"))
    assert f"{code[:60]}\n{code[60:]}" in shown(TextBlock("t", f"```sh\n{code}\n```\n"))


def test_code_has_the_colours_of_its_language() -> None:
    dark = shown(TextBlock("t", "```python\nreturn 1  # one\n```\n"), theme=Theme("dark"))
    light = shown(TextBlock("t", "```python\nreturn 1  # one\n```\n"), theme=Theme("light"))
    assert "\x1b[35mreturn\x1b[0m \x1b[33m1\x1b[0m  \x1b[90m# one\x1b[0m" in dark
    assert "\x1b[38;5;90mreturn\x1b[0m" in light


@pytest.mark.spec("TUI-5")
def test_every_status_has_its_own_sign_colour_and_word() -> None:
    assert set(STATUSES) == set(Status)
    for field in ("sign", "ascii", "style", "word"):
        assert len({getattr(face, field) for face in STATUSES.values()}) == len(STATUSES) == 7
    for status, face in STATUSES.items():
        assert shown(call(status)).startswith(f"{face.sign} Bash(npm test)  {face.word}")
        assert shown(call(status), theme=PLAIN).startswith(f"{face.ascii} Bash(npm test)  {face.word}")
        codes = shown(call(status), theme=Theme()).partition(face.sign)[0]
        assert codes.startswith("\x1b[")


@pytest.mark.spec("TUI-5")
def test_a_running_call_shows_its_time_its_place_its_gauge_and_its_newest_lines() -> None:
    block = call(
        Status.EXECUTING,
        started=0.0,
        index=1,
        of=5,
        current=3,
        total=12,
        output="one\ntwo\nthree\n 10 %\r 50 %\r\n\x1b[32mfour\x1b[0m\n",
    )
    assert (
        shown(block)
        == """● Bash(npm test)  runs · 3.0 s · 2 of 5
  █████░░░░░░░░░░░░░░░ 25%
  three
   50 %
  four"""
    )


@rows(
    "block, icon, lines",
    [
        (call(duration_ms=2100.0), "run", "✓ Bash(npm test)  done · 2.1 s"),
        (
            call(result=Result((Text("\n".join(map(str, range(20)))),))),
            "run",
            "✓ Bash(npm test)  done · 20 lines\n  … 15 more lines (Ctrl-O)\n  15\n  16\n  17\n  18\n  19",
        ),
        (
            call(result=Result((Text("x"),), details={"lines": [1, 120], "of": 500})),
            "read",
            "✓ Bash(npm test)  done · 120 lines of 500",
        ),
        (
            call(result=Result((Text("x"),), details={"matches": 1, "files": 1})),
            "search",
            "✓ Bash(npm test)  done · 1 match in 1 file",
        ),
        (
            call(result=Result((), (Display("diff", DIFF),))),
            "edit",
            "✓ Bash(npm test)  done · +2 −1\n   8   import os\n   9 - x = 1\n           ^\n   9 + x = 2\n           ^\n"
            '  10 + y = "three"\n  11   print(x)',
        ),
        (
            call(result=Result((), (Display("text", "[x] one\n[>] two\n[ ] three", "To do"),))),
            "think",
            "✓ Bash(npm test)  done · 1 of 3 done\n  ✓ one\n  ▸ two\n  ○ three",
        ),
        (
            call(result=Result((), (Display("table", {"columns": ["a", "b"], "rows": [[1, "x"]]}),))),
            "run",
            "✓ Bash(npm test)  done\n  a │ b\n  ──┼──\n  1 │ x",
        ),
        (
            call(result=Result((), (Display("tree", TREE),))),
            "run",
            "✓ Bash(npm test)  done\n  a\n  ├ b\n  │ └ c\n  └ d",
        ),
        (
            call(result=Result((), (Display("image", {"media_type": "image/png", "path": "a.png"}),))),
            "read",
            "✓ Bash(npm test)  done\n  [image/png] a.png",
        ),
        (
            call(result=Result((), (Display("progress", {"current": 1, "total": 2}),))),
            "run",
            "✓ Bash(npm test)  done\n  ██████████░░░░░░░░░░ 50%",
        ),
        (
            call(
                Status.ERROR,
                duration_ms=900.0,
                result=Result(
                    (Text("boom\n[exit code 3]"),), is_error=True, code="tool_error", details={"exit_code": 3}
                ),
            ),
            "run",
            "✗ Bash(npm test)  failed · 0.9 s · exit 3\n  boom",
        ),
        (
            call(Status.ERROR, result=Result.failed("unknown_tool", "There is no tool named 'Nope'.")),
            "run",
            "✗ Bash(npm test)  failed · no such tool\n  There is no tool named 'Nope'.",
        ),
        (
            call(Status.CANCELLED, answered="no", note="not today", result=Result.failed("denied", "x")),
            "run",
            "⊘ Bash(npm test)  cancelled · denied by you\n  not today",
        ),
        (
            call(Status.CANCELLED, decision=Deny("rule", "Bash(npm:*) is denied"), result=Result.failed("denied", "x")),
            "run",
            "⊘ Bash(npm test)  cancelled · denied by rule\n  Bash(npm:*) is denied",
        ),
        (
            call(
                Status.CANCELLED,
                result=outcomes.with_output(outcomes.stopped("user", "Interrupted.", "mutating"), "test 1\ntest 2\n"),
            ),
            "run",
            "⊘ Bash(npm test)  cancelled · interrupted\n  test 1\n  test 2",
        ),
    ],
)
def test_a_call_has_one_line_and_a_few_below_it(block: CallBlock, icon: str, lines: str) -> None:
    assert shown(block, icon=icon) == lines


def test_a_long_diff_is_cut_and_counted_and_whole_on_demand() -> None:
    body = DIFF.replace("+x = 2\n", "".join(f"+x = {number}\n" for number in range(50)))
    block = call(result=Result((), (Display("diff", body),)))
    assert shown(block).endswith("… 34 more lines (Ctrl-O)")
    whole = shown(block, expanded=True)
    assert whole.count("\n") == 55
    assert "command: npm test" in whole


def test_the_reason_of_a_failure_takes_up_to_three_rows_broken_at_blanks() -> None:
    lost = "The server every disconnected during the call (it ended with exit status 3). It may have partly run."
    _line, *rows = shown(call(Status.ERROR, result=Result.failed("tool_error", lost)), 60).split("\n")
    assert [len(rows), " ".join(" ".join(rows).split())] == [2, lost]
    _line, *rows = shown(call(Status.ERROR, result=Result.failed("tool_error", lost * 5)), 60).split("\n")
    assert (len(rows), rows[-1][-1]) == (3, "…")
    denied = call(Status.CANCELLED, decision=Deny("rule", lost), result=Result.failed("denied", "x"))
    assert shown(denied, 60).endswith("partly run.")


def test_every_code_of_a_result_has_a_line() -> None:
    for code, row in CODES.items():
        text = shown(call(row.status, result=Result(code=code, is_error=code != "ok")), 40)
        assert STATUSES[row.status].word in text


def test_a_line_keeps_its_sign_and_word_in_few_columns() -> None:
    block = call(Status.EXECUTING, started=0.0, index=1, of=5, arguments={"command": "a very long command"})
    assert shown(block, 24) == "● Bash(a very lon…  runs"
    assert shown(block, 10) == "● B…  runs"
    assert shown(block, 60) == "● Bash(a very long command)  runs · 3.0 s · 2 of 5"


def test_prompts_thoughts_notices_and_ends() -> None:
    long = PromptBlock("p", "\n".join(f"line {number}" for number in range(40)), 2)
    assert shown(long).split("\n")[-2:] == ["▌ … 30 more lines", "▌ + 2 attachments"]
    assert "line 39" in shown(long, expanded=True)
    thought = ThinkingBlock("t", "First.\nThen this.", began=1.0, ended=4.2)
    assert shown(thought) == "\n∴ thinking for 3.2 s · Then this."
    assert shown(ThinkingBlock("t", "First.", began=1.0, ended=4.2, done=True)) == "\n∴ thought for 3.2 s"
    assert shown(NoticeBlock("careful", "warning")) == "! careful"
    assert shown(EndBlock(RunEnded(0, "done"), 5.0)) == ""
    assert shown(EndBlock(RunEnded(0, "done"), 75.0, 1234, 0.5)) == "\n· 1 min 15 s · 1,234 output tokens · $0.50"
    assert shown(EndBlock(RunEnded(0, "interrupted"), 2.0)) == "\n! The run was interrupted."
    assert shown(ActionBlock("1", "rename x", "discarded", "wrong", "person")) == "⊘ Discarded by you: rename x. wrong"


@rows(
    "environment, encoding, name, theme",
    [
        ({"TERM": "xterm-256color"}, "utf-8", "auto", Theme()),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "utf-8", "dark", MONO),
        ({"TERM": "dumb"}, "ascii", "auto", replace(PLAIN, depth="16")),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "utf-8", "auto", Theme("light")),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "utf-8", "dark", Theme("dark")),
        ({"TERM": "xterm-256color", "COLORFGBG": "15;default;0"}, "utf-8", "auto", Theme("dark")),
        ({"TERM": "xterm-256color"}, "utf-8", "light", Theme("light")),
        ({"TERM": "xterm-256color"}, "utf-8", "mono", MONO),
        ({"TERM": "xterm-256color"}, "latin-1", "auto", Theme(unicode=False)),
        ({"TERM": "xterm"}, "utf-8", "auto", Theme(depth="16")),
        ({"TERM": "linux"}, "utf-8", "auto", Theme(depth="16")),
        ({"TERM": "tmux-256color"}, "utf-8", "auto", Theme(depth="256")),
        ({"TERM": "alacritty"}, "utf-8", "auto", Theme(depth="256")),
        ({"TERM": "xterm-kitty", "COLORTERM": "truecolor"}, "utf-8", "auto", Theme(depth="true")),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "utf-8", "auto", Theme(depth="true")),
        ({"TERM": "xterm-direct"}, "utf-8", "auto", Theme(depth="true")),
        ({"TERM": "xterm-256color", "COLORTERM": "1"}, "utf-8", "auto", Theme(depth="256")),
        ({"TERM": "screen-256color", "COLORTERM": "truecolor", "STY": "1"}, "utf-8", "auto", Theme(depth="256")),
    ],
)
def test_the_theme_of_a_terminal(environment: dict[str, str], encoding: str, name: str, theme: Theme) -> None:
    assert theme_for(environment, encoding, name) == theme


def test_the_setting_has_all_themes_and_auto(tmp_path: Path) -> None:
    assert THEME.expected == f"one of {', '.join(('auto', *get_args(ThemeName)))}"
    config = load_config(tmp_path, settings={"tui": {"theme": "light"}}, environ={}, home=tmp_path)
    assert config.settings.tui_theme == "light"


@given(st.lists(st.tuples(st.text("ab 中👩é\n", max_size=20), st.sampled_from(("", "bold")))), st.integers(2, 12))
def test_wrapped_text_fits_and_loses_nothing_but_blanks(spans: list[tuple[str, str]], width: int) -> None:
    for made in (wrapped(spans, width), cut([(text.replace("\n", ""), style) for text, style in spans], width)):
        lines = ["".join(text for text, _ in row) for row in made]
        assert all(width_of(line) <= width for line in lines)
        whole = "".join(text for text, _ in spans)
        assert "".join(lines).replace(" ", "") == whole.replace(" ", "").replace("\n", "")
        assert all(width_of(clipped(line, 3)) <= 3 for line in lines)
