"""What rules cover together: the whole of a kind of tool, and the folder a command starts in."""

from dataclasses import replace

from callgate.words.decisions import ApprovalPolicy
from tests.policy.gate_kit import NOW, ROOT, book, case_of, line, outcome, rules, shell


def test_the_whole_of_edit_is_what_an_edit_rule_on_everything_is() -> None:
    outside, secret = case_of("Write", file_path="/x/a"), case_of("Write", file_path=".netrc")
    for allow in (["Edit"], ["Edit(**)"]):
        assert outcome(case_of("Write", file_path="src/a.py"), rules(allow=allow)) == "allow"
        assert outcome(case_of("ApplyPatch", patch="--- a/x\n+++ b/x\n"), rules(allow=allow)) == "allow"
        assert outcome(shell("ls > a.txt"), rules(allow=[*allow, "Bash(ls:*)"])) == "allow"
        assert outcome(shell("ls > .bashrc"), rules(allow=[*allow, "Bash(ls:*)"])) == "ask"
        assert outcome(outside, rules(allow=allow)) == "ask"
        assert outcome(secret, rules(allow=allow)) == "ask"
        assert outcome(case_of("Deploy"), rules(allow=allow)) == "ask"
    old = book(line("allow", "Edit", expires_at=NOW + 1))
    assert outcome(replace(case_of("Write", file_path="a"), now=NOW + 2), old) == "ask"


def test_a_move_to_the_folder_one_is_in_is_none() -> None:
    npm = rules(allow=["Bash(npm:*)", "Bash(git:*)"])
    assert outcome(shell(f"cd {ROOT} && npm test"), npm) == "allow"
    assert outcome(shell(f"cd {ROOT}/src/.. && npm test"), npm) == "allow"
    assert outcome(shell(f"git -C {ROOT} status && npm --prefix . test"), npm) == "allow"
    assert outcome(shell(f"cd {ROOT}/src && git status"), npm) == "ask"
    assert outcome(shell(f"git -C {ROOT}/src status"), npm) == "ask"
    assert outcome(case_of("Bash", command=f"cd {ROOT} && git status", cwd="src"), npm) == "ask"


def test_an_answer_about_edit_is_about_no_other_tool() -> None:
    answer = ApprovalPolicy("allow", "Edit", None)
    assert outcome(case_of("Edit", file_path="a", policies=[answer])) == "allow"
    assert outcome(case_of("Write", file_path="a", policies=[answer])) == "ask"
