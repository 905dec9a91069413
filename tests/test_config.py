"""One frozen Config from files, environment and command line."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.config import Config, load_config
from callgate.policy.entries import KeyLine, StatusLineSettings
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import ChangedFolder, Trust, Trusted, Untrusted
from callgate.words.decisions import ApprovalPolicy, Origin
from callgate.words.errors import UsageError
from callgate.words.limits import LoopLimits

HOOK = "[[hooks.Stop]]\ncommand = 'true'\n"


class Desk:
    """A person with a home folder, a workspace, and no managed settings unless some are put there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "work"
        self.managed = folder / "etc" / "settings.toml"
        self.own = self.home / ".config" / "callgate" / "settings.toml"
        self.project = self.root / ".callgate" / "settings.toml"
        self.local = self.root / ".callgate" / "settings.local.toml"
        self.data = self.home / ".local" / "share" / "callgate"
        self.environ: dict[str, str] = {"HOME": str(self.home)}
        self.home.mkdir()
        self.root.mkdir()

    def put(self, file: Path, text: str) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def load(self, **given: Any) -> Config:
        return load_config(**{"root": self.root, "environ": self.environ, "managed": self.managed, **given})

    def trust(self) -> None:
        store = Trust(self.data, clock=lambda: 1_000.0)
        assert isinstance(store.trust(self.root, fingerprint(self.root)), Trusted)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_with_nothing_set_everything_has_its_default(desk: Desk) -> None:
    folder = desk.home / ".config" / "callgate"
    found = desk.load()
    assert found == Config(desk.root, desk.home, desk.data, folder=folder, files=found.files)
    assert desk.load().limits == LoopLimits()
    assert not desk.data.exists()


@pytest.mark.spec("STL-1")
def test_a_status_line_knows_whether_a_repository_has_set_it(desk: Desk) -> None:
    desk.put(desk.project, "[statusline]\ncommand = 'theirs'\nrefresh = '1m'\npadding = 1")
    assert desk.load().statusline == StatusLineSettings()
    desk.trust()
    trusted = desk.load().statusline
    assert trusted == StatusLineSettings(command="theirs", refresh=60.0, padding=1, from_repository=True)
    desk.put(desk.own, "[statusline]\ncommand = 'mine'")
    assert desk.load().statusline == StatusLineSettings(command="mine", refresh=60.0, padding=1)


@pytest.mark.spec("TUI-8")
def test_keys_of_the_terminal_are_the_persons_own_with_file_and_line(desk: Desk) -> None:
    desk.put(desk.project, "[keybindings.question]\nyes = 'n'\n[tui]\nediting = 'vim'")
    desk.put(desk.own, "[keybindings.input]\nsubmit = 'ctrl-s'\nnewline = ['enter', 'alt-enter']")
    desk.trust()
    config = desk.load()
    assert config.keybindings == (
        KeyLine("input", "submit", ("ctrl-s",), Origin("user", str(desk.own), 2)),
        KeyLine("input", "newline", ("enter", "alt-enter"), Origin("user", str(desk.own), 3)),
    )
    assert config.settings.tui_editing == "vim"
    assert "key bindings are ignored" in config.notes[0].text
    desk.put(desk.own, "[keybindings.input]\nsubmit = 3\n[tui]\nediting = 'nano'")
    assert [fault.text for fault in desk.load().faults] == [
        'keybindings.input.submit must be a key such as "ctrl-x ctrl-e" or a list of them, not 3',
        "tui.editing must be emacs or vim, not 'nano'",
    ]


@pytest.mark.spec("GATE-3")
def test_every_layer_is_read(desk: Desk) -> None:
    desk.put(desk.managed, "[permissions]\ndeny = ['A']\n[limits]\nmax_turns = 9")
    desk.put(desk.own, "mode = 'bypass'\n[permissions]\nallow = ['B']\n[questions]\ndeadline = '1m'\nnotify = 'bell'")
    desk.put(desk.project, "[permissions]\nask = ['C']\n[limits]\ndenials_in_a_row = 2")
    desk.put(desk.local, "mode = 'accept_edits'\n[limits]\ndenials_in_session = 4\nmax_concurrency = 3")
    extra = desk.put(desk.home / "extra.toml", "[permissions]\ndeny = ['D']\n[limits]\nmax_turns = 7")
    found = desk.load(settings=extra, allow=["E"], ask=["F"], deny=["G"])
    assert [(rule.effect, rule.text, rule.origin.layer) for rule in found.rules] == [
        ("deny", "A", "managed"),
        ("allow", "B", "user"),
        ("ask", "C", "project"),
        ("deny", "D", "command line"),
        ("allow", "E", "command line"),
        ("ask", "F", "command line"),
        ("deny", "G", "command line"),
    ]
    assert found.mode == "accept_edits"
    assert found.limits == LoopLimits(max_turns=7, denials_in_a_row=2, denials=4)
    assert found.settings.limits_max_concurrency == 3
    assert (found.settings.questions_deadline, found.settings.questions_notify) == (60.0, "bell")
    assert (found.faults, found.notes) == ((), ())


def test_the_command_line_wins_over_its_own_file(desk: Desk) -> None:
    extra = desk.put(desk.home / "extra.toml", "mode = 'bypass'")
    assert desk.load(settings=extra).mode == "bypass"
    assert desk.load(settings=extra, mode="plan").mode == "plan"


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize("which", ["managed", "own", "project", "local"])
def test_a_file_with_a_fault_closes_the_gate(desk: Desk, which: str) -> None:
    file = desk.put(getattr(desk, which), "\nmode = ")
    (fault,) = desk.load().faults
    assert (fault.origin.file, fault.origin.line) == (str(file), 2)


def test_the_root_is_the_current_folder_unless_given(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.root)
    assert desk.load(root=None).root == desk.root


def test_only_the_workspace_itself_is_looked_at(desk: Desk) -> None:
    desk.put(desk.project, "mode = 'plan'")
    (desk.root / "sub").mkdir()
    assert desk.load(root=desk.root / "sub").mode == "default"
    assert desk.load(root=desk.root.parent).mode == "default"


def test_a_root_that_is_a_link_is_taken_for_what_it_is(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("work")
    assert desk.load(root=tmp_path / "link").root == desk.root


@pytest.mark.parametrize("root", ["none", "a\0b"], ids=["missing", "nul"])
def test_a_root_that_is_no_folder_is_refused(desk: Desk, root: str) -> None:
    with pytest.raises(UsageError, match="the workspace"):
        desk.load(root=desk.root / root)


# ---- trust --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("HOOK-3")
def test_hooks_of_the_folder_count_once_it_is_trusted_and_until_it_changes(desk: Desk) -> None:
    desk.put(desk.project, HOOK)
    assert (desk.load().trust, desk.load().hooks) == (Untrusted(), ())
    desk.trust()
    found = desk.load()
    assert found.trust == Trusted(1_000.0)
    assert [hook.target for hook in found.hooks] == ["true"]
    assert found.notes == ()
    desk.put(desk.project, HOOK.replace("true", "false"))
    found = desk.load()
    assert isinstance(found.trust, ChangedFolder)
    assert found.hooks == ()
    assert [note.text for note in found.notes] == [
        "hooks are not run until you trust this folder: see callgate trust show",
        "this folder changed since you trusted it, so it is not trusted now: callgate trust show says how",
    ]
    assert found.notes[1].origin == Origin("project", str(desk.root))
    assert "  -command = 'true'" in found.trust.describe()
    assert "  +command = 'false'" in found.trust.describe()


def test_a_folder_can_be_trusted_this_once(desk: Desk) -> None:
    desk.put(desk.project, HOOK)
    found = desk.load(trust=True)
    assert (found.trust, len(found.hooks)) == (Trusted(0.0), 1)
    assert not desk.data.exists()
    assert desk.load().hooks == ()


def test_trust_never_makes_a_repository_loosen(desk: Desk) -> None:
    desk.put(desk.project, "mode = 'bypass'\n[permissions]\nallow = ['Bash']\n")
    desk.trust()
    found = desk.load()
    assert (found.mode, found.rules) == ("default", ())
    assert len(found.notes) == 2


def test_a_damaged_record_of_trust_is_said(desk: Desk) -> None:
    desk.put(desk.project, HOOK)
    desk.trust()
    (record,) = (desk.data / "trust").iterdir()
    record.write_text("{")
    found = desk.load()
    assert isinstance(found.trust, Untrusted)
    assert found.hooks == ()
    assert found.notes[-1].text.startswith("this folder is not trusted: the trust record")


# ---- remembered answers -------------------------------------------------------------------------------------------


def test_remembered_answers_are_those_of_the_workspace(desk: Desk) -> None:
    memory = desk.load().memory()
    assert memory is not None
    added = memory.add(ApprovalPolicy("allow", "Bash", None, "project"))
    again = desk.load().memory()
    assert again is not None
    assert again.policies() == (added,)


@pytest.mark.spec("GATE-3")
def test_damaged_answers_close_the_gate(desk: Desk) -> None:
    file = desk.put(desk.data / "policies" / "user.json", "{")
    assert [fault.origin.file for fault in desk.load().faults] == [str(file)]


# ---- the environment ----------------------------------------------------------------------------------------------


def test_the_folder_of_ones_own_settings_can_be_elsewhere(desk: Desk, tmp_path: Path) -> None:
    desk.put(desk.own, "mode = 'plan'")
    desk.put(tmp_path / "xdg" / "callgate" / "settings.toml", "mode = 'accept_edits'")
    desk.put(tmp_path / "conf" / "settings.toml", "mode = 'bypass'")
    assert desk.load().mode == "plan"
    desk.environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert desk.load().mode == "accept_edits"
    desk.environ["CALLGATE_CONFIG_DIR"] = str(tmp_path / "conf")
    assert desk.load().mode == "bypass"
    desk.environ["CALLGATE_CONFIG_DIR"] = str(tmp_path / "none")
    assert desk.load().mode == "default"
    desk.environ["CALLGATE_CONFIG_DIR"] = ""
    assert desk.load().mode == "accept_edits"


@pytest.mark.parametrize("name", ["CALLGATE_CONFIG_DIR", "XDG_CONFIG_HOME"])
def test_ones_own_settings_are_never_in_the_workspace(desk: Desk, name: str) -> None:
    desk.put(desk.root / "conf" / "callgate" / "settings.toml", "mode = 'bypass'")
    for place in (desk.root / "conf", desk.root):
        desk.environ[name] = str(place)
        with pytest.raises(UsageError, match=f"{name} is .* inside the workspace"):
            desk.load()
    (desk.home / "link").symlink_to(desk.root / "conf")
    desk.environ[name] = str(desk.home / "link")
    with pytest.raises(UsageError, match="inside the workspace"):
        desk.load()


@pytest.mark.parametrize("name", ["CALLGATE_CONFIG_DIR", "XDG_CONFIG_HOME"])
@pytest.mark.parametrize("place", ["conf", ".", "~/conf"])
def test_a_folder_of_settings_is_a_whole_path(desk: Desk, name: str, place: str) -> None:
    desk.environ[name] = place
    with pytest.raises(UsageError, match=f"{name} must be an absolute path"):
        desk.load()


def test_a_folder_of_settings_is_a_folder(desk: Desk) -> None:
    desk.environ["CALLGATE_CONFIG_DIR"] = str(desk.put(desk.home / "conf.toml", "mode = 'plan'"))
    with pytest.raises(UsageError, match="CALLGATE_CONFIG_DIR must be a folder"):
        desk.load()


@pytest.mark.parametrize("root", [".", ".config", ".config/callgate", ".."], ids=["home", "above", "itself", "top"])
def test_a_workspace_may_hold_the_place_where_settings_always_are(desk: Desk, root: str) -> None:
    desk.put(desk.own, "mode = 'accept_edits'")
    found = desk.load(root=desk.home / root)
    assert found.mode == "accept_edits"
    assert found.own_data


def test_a_workspace_that_holds_the_home_folder_may_hold_other_places_of_the_person(desk: Desk) -> None:
    desk.put(desk.home / "dotfiles" / "settings.toml", "mode = 'accept_edits'")
    desk.environ["CALLGATE_CONFIG_DIR"] = str(desk.home / "dotfiles")
    desk.environ["CALLGATE_DATA_DIR"] = str(desk.home / "data")
    found = desk.load(root=desk.home)
    assert (found.mode, found.own_data) == ("accept_edits", True)
    with pytest.raises(UsageError, match="inside the workspace"):
        desk.load(root=desk.home / "dotfiles")


def test_the_home_folder_as_a_workspace_needs_trust_like_any_other(desk: Desk) -> None:
    desk.put(desk.home / ".callgate" / "settings.toml", HOOK + "[permissions]\nallow = ['Bash']")
    found = desk.load(root=desk.home)
    assert (found.hooks, found.rules, len(found.notes)) == ((), (), 2)


@pytest.mark.spec("HOOK-3")
def test_from_a_data_folder_in_the_workspace_neither_trust_nor_answers_count(desk: Desk) -> None:
    desk.put(desk.project, HOOK)
    desk.environ["CALLGATE_DATA_DIR"] = str(desk.root / "data")
    Trust(desk.root / "data").trust(desk.root, fingerprint(desk.root))
    desk.put(desk.root / "data" / "policies" / "user.json", "{")
    found = desk.load()
    assert (found.trust, found.hooks, found.faults, found.memory()) == (Untrusted(), (), (), None)
    assert found.data == desk.root / "data"
    assert found.notes[-1].origin == Origin("environment", str(desk.root / "data"))
    assert "lies in the workspace" in found.notes[-1].text


def test_the_data_folder_can_be_elsewhere(desk: Desk, tmp_path: Path) -> None:
    desk.environ["XDG_DATA_HOME"] = str(tmp_path / "xdg")
    assert desk.load().data == tmp_path / "xdg" / "callgate"
    desk.environ["CALLGATE_DATA_DIR"] = str(tmp_path / "data")
    assert desk.load().data == tmp_path / "data"
    assert desk.load().own_data


@pytest.mark.spec("GATE-3")
def test_the_mode_of_the_environment_can_only_be_stricter(desk: Desk) -> None:
    desk.environ["CALLGATE_MODE"] = "bypass"
    found = desk.load()
    assert found.mode == "default"
    assert found.notes[0].origin == Origin("environment", "CALLGATE_MODE")
    desk.environ["CALLGATE_MODE"] = "plan"
    assert desk.load(mode="bypass").mode == "plan"
    desk.environ["CALLGATE_MODE"] = ""
    assert desk.load(mode="bypass").mode == "bypass"
    desk.environ["CALLGATE_MODE"] = "paln"
    with pytest.raises(UsageError, match="CALLGATE_MODE must be one of default"):
        desk.load()


def test_the_environment_says_how_many_calls_run_at_once(desk: Desk) -> None:
    desk.put(desk.own, "[limits]\nmax_concurrency = 5")
    desk.environ["CALLGATE_MAX_CONCURRENCY"] = "50"
    assert desk.load().settings.limits_max_concurrency == 50
    desk.put(desk.project, "[limits]\nmax_concurrency = 7")
    assert desk.load().settings.limits_max_concurrency == 7
    desk.put(desk.managed, "[limits]\nmax_concurrency = 2")
    assert desk.load().settings.limits_max_concurrency == 2
    desk.environ["CALLGATE_MAX_CONCURRENCY"] = ""
    desk.managed.unlink()
    assert desk.load().settings.limits_max_concurrency == 5


@pytest.mark.parametrize("wanted", ["0", "-1", "x", "1.5", "٣", "²", "1000001"])
def test_a_number_that_is_none_is_refused(desk: Desk, wanted: str) -> None:
    desk.environ["CALLGATE_MAX_CONCURRENCY"] = wanted
    with pytest.raises(UsageError, match="CALLGATE_MAX_CONCURRENCY must be a whole number above 0"):
        desk.load()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CALLGATE_MOED", "CALLGATE_MODE"),
        ("CALLGATE_CONFIG_DIRS", "CALLGATE_CONFIG_DIR"),
        ("CALLGATE_DEMO_SPEED", ""),
        ("CALLGATE_MODE", ""),
        ("XALLGATE_MODE", ""),
    ],
)
def test_a_misspelled_variable_is_noticed(desk: Desk, name: str, meant: str) -> None:
    desk.environ[name] = "default"
    expected = [f"unknown variable: did you mean {meant}?"] if meant else []
    assert [note.text for note in desk.load().notes] == expected


@pytest.mark.parametrize("home", ["", "home", "~"])
def test_without_a_home_folder_nothing_is_read(desk: Desk, home: str) -> None:
    desk.environ["HOME"] = home
    with pytest.raises(UsageError, match="there is no home folder"):
        desk.load()


def test_the_home_folder_may_be_given_or_be_called_otherwise(desk: Desk, tmp_path: Path) -> None:
    desk.environ = {"USERPROFILE": str(desk.home)}
    assert desk.load().home == desk.home
    assert desk.load(home=tmp_path).home == tmp_path
    assert desk.load(home=tmp_path).data == tmp_path / ".local" / "share" / "callgate"


def test_the_environment_is_that_of_the_process_unless_given(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("CALLGATE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(desk.home))
    monkeypatch.setenv("CALLGATE_MODE", "plan")
    found = load_config(desk.root, managed=desk.managed)
    assert (found.mode, found.home) == ("plan", desk.home)


# ---- the command line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "bypas"}, "unknown mode 'bypas'"),
        ({"allow": "Bash"}, "pass a list of rules, not the text 'Bash'"),
        ({"deny": [" "]}, "a rule cannot be empty"),
        ({"ask": [""]}, "a rule cannot be empty"),
        ({"settings": "/none/settings.toml"}, "there is no settings file '/none/settings.toml'"),
    ],
    ids=["mode", "text", "blank", "empty", "file"],
)
def test_what_is_wrong_with_the_command_line_is_said_at_once(desk: Desk, given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        desk.load(**given)


def test_a_settings_file_of_the_command_line_with_a_fault_closes_the_gate(desk: Desk) -> None:
    file = desk.put(desk.home / "x.toml", "moed = 'plan'")
    assert [fault.origin for fault in desk.load(settings=str(file)).faults] == [Origin("command line", str(file), 1)]
    assert desk.load(settings=desk.home).faults[0].origin.file == str(desk.home)


def test_an_empty_settings_file_of_the_command_line_is_there(desk: Desk) -> None:
    assert desk.load(settings=desk.put(desk.home / "x.toml", "")).faults == ()


@pytest.mark.spec("GATE-13")
def test_commands_in_a_sandbox_are_free_in_a_folder_that_is_trusted_or_brings_nothing_along(desk: Desk) -> None:
    assert desk.load().frees_commands
    desk.put(desk.project, HOOK)
    assert not desk.load().frees_commands
    desk.trust()
    assert desk.load().frees_commands
    desk.put(desk.own, "[sandbox]\nauto_allow = false")
    assert not desk.load().frees_commands


@pytest.mark.spec("GATE-13")
def test_a_repository_can_only_ask_for_more_questions(desk: Desk) -> None:
    desk.put(desk.project, "[sandbox]\nauto_allow = false")
    desk.trust()
    assert not desk.load().frees_commands
    desk.put(desk.own, "[sandbox]\nauto_allow = false")
    desk.put(desk.project, "[sandbox]\nauto_allow = true")
    desk.trust()
    config = desk.load()
    assert not config.frees_commands
    assert any("sandbox.auto_allow = True is ignored" in note.text for note in config.notes)


def test_settings_may_be_given_as_a_value_above_the_files(desk: Desk) -> None:
    desk.put(desk.own, 'mode = "plan"\n')
    given = {"mode": "accept_edits", "permissions": {"deny": ["Bash(rm *)"]}, "limits": {"max_turns": 9}}
    found = desk.load(settings=given, values={"limits.max_turns": 3})
    assert (found.mode, found.limits.max_turns) == ("accept_edits", 3)
    assert [(rule.text, str(rule.origin)) for rule in found.rules] == [("Bash(rm *)", "command line")]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"settings": {"mode": "fast"}}, "mode must be one of"),
        ({"settings": {"permissions": ["x"]}}, "must be a table"),
        ({"settings": {"limit": {}}}, "did you mean limits"),
        ({"values": {"limits.max_turn": 1}}, "unknown setting 'limits.max_turn'"),
        ({"values": {"limits.max_turns": 0}}, "limits.max_turns must be a whole number above 0, not 0"),
    ],
)
def test_a_wrong_value_among_given_settings_is_a_usage_error(desk: Desk, given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        desk.load(**given)


@pytest.mark.spec("BLT-2")
def test_hosts_for_the_sandbox_come_from_the_person_and_a_repository_can_only_take_some_away(desk: Desk) -> None:
    desk.put(desk.project, '[sandbox]\nallow_hosts = ["evil.example"]')
    desk.trust()
    config = desk.load()
    assert config.settings.sandbox_allow_hosts == ()
    assert any("sandbox.allow_hosts = ('evil.example',) is ignored" in note.text for note in config.notes)
    desk.put(desk.own, '[sandbox]\nallow_hosts = ["pypi.org", "*.example.com"]')
    assert desk.load().settings.sandbox_allow_hosts == ("pypi.org", "*.example.com")
    desk.put(desk.project, '[sandbox]\nallow_hosts = ["a.example.com"]')
    desk.trust()
    assert desk.load().settings.sandbox_allow_hosts == ("a.example.com",)
    desk.put(desk.project, "[sandbox]\nallow_hosts = []")
    desk.trust()
    assert desk.load().settings.sandbox_allow_hosts == ()


def test_a_host_that_is_none_closes_the_gate(desk: Desk) -> None:
    desk.put(desk.own, '[sandbox]\nallow_hosts = ["https://example.com/simple"]')
    fault = desk.load().faults[0]
    assert "sandbox.allow_hosts must be a list of hosts" in fault.text
    assert "write only its host" in fault.text
