"""What nobody spoke of: the tool itself decides, and a question says what is risky."""

from callgate.core.ports import Case
from callgate.words.decisions import Ask
from callgate.words.traits import Traits, reads, shared, writes
from tests.policy.gate_kit import case_of, decided, shell
from tests.rows import rows


@rows(
    ("case", "expected", "why"),
    [
        (case_of("Look", traits=Traits("none")), "allow", "the call only reads"),
        (case_of("Look", traits=Traits("none", shared)), "allow", "the call only reads"),
        (case_of("Look", traits=Traits("none", reads("a.py"))), "allow", "files of the workspace"),
        (case_of("Look", traits=Traits("none", reads("/etc/x"))), "ask", "/etc/x, outside the workspace"),
        (case_of("Deploy"), "ask", "no rule covers Deploy"),
        (case_of("Deploy", traits=Traits("idempotent")), "ask", "may have side effects"),
        (case_of("Deploy", traits=Traits(declared_locks=writes("a"))), "ask", "may have side effects"),
        (case_of("TodoWrite"), "allow", "state of the session"),
        (case_of("Read", file_path="a.py"), "allow", "files of the workspace"),
        (case_of("Read", file_path="/srv/a.py"), "ask", "/srv/a.py, outside the workspace"),
        (case_of("Read", traits=Traits("none")), "allow", "the call only reads"),
        (case_of("Grep", pattern="x"), "allow", "files of the workspace"),
        (case_of("Write", file_path="a.py"), "ask", "no rule covers changes of a.py; Write(./a.py) would allow this"),
        (case_of("WebFetch", url="https://example.com/a"), "ask", "WebFetch(domain:example.com)"),
        (case_of("WebFetch", url="x"), "ask", "is unclear"),
        (case_of("WebSearch", query="x"), "ask", "network"),
        (shell("ls"), "allow", ""),
        (shell("cat a.py"), "allow", "files of the workspace"),
        (shell("cat /etc/hosts"), "ask", "/etc/hosts, outside the workspace"),
        (shell("cat *.py"), "ask", "a pattern may match a link"),
        (shell("ls && git status"), "ask", "Bash(git status:*) would allow this"),
        (shell("touch a.py"), "ask", "no rule covers touch"),
        (shell("cat a.py", traits=Traits("mutating")), "allow", ""),
        (shell("touch a.py", traits=Traits("none")), "ask", "no rule covers touch"),
        (case_of("Bash", {"command": 3}, traits=Traits("none")), "ask", "command is int instead of text"),
    ],
    ids=range(25),
)
def test_what_nobody_spoke_of_is_decided_by_the_tool_itself(case: Case, expected: str, why: str) -> None:
    decision = decided(case)
    assert type(decision).__name__.lower() == expected
    assert decision.by == "default"
    assert why in decision.reason


@rows(
    ("case", "risk"),
    [
        (case_of("Deploy"), None),
        (case_of("Write", file_path="a.py"), None),
        (case_of("Write", file_path="/tmp/x"), None),  # the reason says so
        (shell("touch a"), None),
        (shell("touch /tmp/x"), "the call accesses /tmp/x, outside the workspace"),
        (shell("python x.py"), "the effects of this command cannot be determined: it runs"),
    ],
    ids=range(6),
)
def test_a_question_says_what_is_risky(case: Case, risk: str | None) -> None:
    decision = decided(case)
    assert isinstance(decision, Ask)
    assert decision.risk is None if risk is None else risk in str(decision.risk)
