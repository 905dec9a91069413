"""Layers: a deny in any of them stands, what is managed stands, and a repository only tightens."""

import re
from pathlib import Path
from typing import get_args

import pytest

from callgate.policy.entries import HookLine, Layer, RuleLine, SettingsFault
from callgate.policy.layers import MANAGED, Layers, gather, read_repository, settings_of_arguments
from callgate.policy.protected import is_beneath
from callgate.policy.settings import LayerSettings, SetValue
from callgate.words.decisions import Effect, Origin
from callgate.words.modes import Mode

LAYERS: tuple[Layer, ...] = get_args(Layer)
REPOSITORY: tuple[Layer, ...] = ("project", "local")
SEVEN: tuple[Effect, ...] = ("allow",) * 7


def at(layer: str, line: int = 1) -> Origin:
    return Origin(layer, f"/{layer}.toml", line)


def saying(layer: Layer, **values: str | float) -> LayerSettings:
    named = {name.replace("__", "."): value for name, value in values.items()}
    return LayerSettings(
        layer, f"/{layer}.toml", plain=tuple(SetValue(name, value, at(layer)) for name, value in named.items())
    )


def ruling(layer: Layer, *effects: Effect) -> LayerSettings:
    rules = tuple(RuleLine(effect, f"{effect} of {layer}", at(layer, line)) for line, effect in enumerate(effects, 1))
    return LayerSettings(layer, f"/{layer}.toml", rules)


def hooking(layer: Layer, count: int = 1) -> LayerSettings:
    hooks = tuple(HookLine("Stop", "command", f"{layer} {line}", at(layer, line)) for line in range(1, count + 1))
    return LayerSettings(layer, f"/{layer}.toml", hooks=hooks)


def modes(**said: Mode) -> tuple[str, list[str]]:
    """The mode that counts, and the layers whose mode is ignored with a note."""
    found = gather([saying(layer.replace("_", " "), mode=mode) for layer, mode in said.items()], trusted=True)  # pyright: ignore
    return str(found.settings.mode), [note.origin.layer for note in found.notes]


def test_nothing_said_is_nothing_but_defaults() -> None:
    found = gather([], trusted=False)
    assert found == Layers()
    assert found.settings.mode == "default"
    assert found.settings.limits_denials_in_a_row == 3
    assert found.settings.questions_deadline is None


def test_the_managed_file_is_where_only_the_machines_owner_writes() -> None:
    assert Path("/etc/callgate/settings.toml") == MANAGED


# ---- rules and hooks ----------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
def test_ask_and_deny_rules_of_every_layer_stand_together() -> None:
    found = gather([ruling(layer, "ask", "deny") for layer in reversed(LAYERS)], trusted=False)
    assert [rule.text for rule in found.rules] == [f"{e} of {layer}" for layer in LAYERS for e in ("ask", "deny")]
    assert found.notes == ()


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted"])
def test_allow_rules_of_a_repository_never_count_and_that_is_said(trusted: bool) -> None:
    found = gather([ruling(layer, "allow") for layer in LAYERS], trusted=trusted)
    assert [rule.origin.layer for rule in found.rules] == ["managed", "user", "command line", "session"]
    text = "allow rules are ignored, because a repository can only add restrictions: put them into your own settings"
    assert found.notes == (SettingsFault(text, at("project")), SettingsFault(text, at("local")))


def test_a_note_names_lines_and_counts_those_it_does_not_name() -> None:
    found = gather([ruling("project", "allow", "allow", "allow", "allow", "allow")], trusted=True)
    assert found.notes[0].text.endswith("own settings (lines 1, 2, 3, 4, 5)")
    found = gather([ruling("project", *SEVEN)], trusted=True)
    assert found.notes[0].text.endswith("own settings (lines 1, 2, 3, 4, 5 and 2 more)")
    assert found.notes[0].origin == at("project", 1)


@pytest.mark.spec("HOOK-3")
def test_hooks_of_a_repository_count_only_when_it_is_trusted() -> None:
    all_of_them = [hooking(layer) for layer in reversed(LAYERS)]
    trusted = gather(all_of_them, trusted=True)
    assert [hook.origin.layer for hook in trusted.hooks] == list(LAYERS)
    assert trusted.notes == ()
    untrusted = gather(all_of_them, trusted=False)
    assert [hook.origin.layer for hook in untrusted.hooks] == ["managed", "user", "command line", "session"]
    text = "hooks are not run until you trust this folder: see callgate trust show"
    assert untrusted.notes == (SettingsFault(text, at("project")), SettingsFault(text, at("local")))
    assert gather([hooking("local", 2)], trusted=False).notes == (SettingsFault(f"{text} (lines 1, 2)", at("local")),)


def test_faults_of_all_layers_are_gathered() -> None:
    faults = [SettingsFault(f"wrong in {layer}", at(layer)) for layer in LAYERS]
    files = [LayerSettings(layer, faults=(fault,)) for layer, fault in zip(LAYERS, faults, strict=True)]
    assert gather(files[::-1], trusted=False).faults == tuple(faults)


# ---- modes --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize(
    ("said", "mode", "ignored"),
    [
        ({"user": "accept_edits"}, "accept_edits", []),
        ({"user": "plan", "command_line": "bypass"}, "bypass", []),
        ({"session": "accept_edits", "command_line": "bypass", "user": "plan"}, "accept_edits", []),
        # managed
        ({"managed": "bypass"}, "bypass", []),
        ({"managed": "default", "command_line": "bypass"}, "default", ["command line"]),
        ({"managed": "default", "user": "default"}, "default", []),
        ({"managed": "bypass", "user": "accept_edits"}, "accept_edits", []),
        ({"managed": "default", "session": "plan"}, "plan", []),
        ({"managed": "dont_ask", "session": "plan"}, "dont_ask", ["session"]),
        ({"managed": "plan", "session": "dont_ask"}, "plan", ["session"]),
        # a repository, when nobody else says anything
        ({"project": "bypass"}, "default", ["project"]),
        ({"project": "accept_edits"}, "default", ["project"]),
        ({"project": "default"}, "default", []),
        ({"project": "dont_ask"}, "dont_ask", []),
        ({"local": "plan"}, "plan", []),
        ({"local": "bypass"}, "default", ["local"]),
        # and over others
        ({"user": "bypass", "project": "accept_edits"}, "accept_edits", []),
        ({"user": "accept_edits", "project": "bypass"}, "accept_edits", ["project"]),
        ({"command_line": "bypass", "project": "default"}, "default", []),
        ({"session": "bypass", "local": "plan"}, "plan", []),
        ({"user": "plan", "project": "dont_ask"}, "plan", ["project"]),
        ({"user": "dont_ask", "project": "plan"}, "dont_ask", ["project"]),
        ({"project": "plan", "local": "default"}, "plan", ["local"]),
        ({"project": "default", "local": "plan", "user": "bypass"}, "plan", []),
        ({"managed": "bypass", "project": "accept_edits"}, "accept_edits", []),
        ({"managed": "default", "project": "bypass"}, "default", ["project"]),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_the_mode_that_counts(said: dict[str, Mode], mode: Mode, ignored: list[str]) -> None:
    assert modes(**said) == (mode, ignored)


def test_who_is_overruled_is_told_by_whom() -> None:
    found = gather([saying("managed", mode="default"), saying("user", mode="bypass")], trusted=False)
    text = "mode = 'bypass' is ignored: managed, /managed.toml:1 sets 'default', which has priority"
    assert found.notes == (SettingsFault(text, at("user")),)
    found = gather([saying("project", mode="bypass")], trusted=False)
    text = "mode = 'bypass' is ignored: a repository can only make 'default' stricter"
    assert found.notes == (SettingsFault(text, at("project")),)


# ---- limits and other values --------------------------------------------------------------------------------------

NUMBERS = [
    "limits__denials_in_a_row",
    "limits__denials_in_session",
    "limits__max_concurrency",
    "limits__max_turns",
    "questions__deadline",
]


def value_of(name: str, *settings: LayerSettings, trusted: bool = False) -> object:
    return getattr(gather(settings, trusted=trusted).settings, re.sub(r"__|\.", "_", name))


@pytest.mark.spec("GATE-3")
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_a_repository_counts_only_if_it_is_lower(name: str) -> None:
    for layer in REPOSITORY:
        assert value_of(name, saying(layer, **{name: 2})) == 2
        assert value_of(name, saying("user", **{name: 5}), saying(layer, **{name: 4})) == 4
        assert value_of(name, saying("user", **{name: 5}), saying(layer, **{name: 6})) == 5
        assert value_of(name, saying("managed", **{name: 5}), saying(layer, **{name: 6})) == 5


@pytest.mark.parametrize("name", NUMBERS)
def test_the_later_of_a_persons_own_numbers_counts_up_to_what_is_managed(name: str) -> None:
    assert value_of(name, saying("user", **{name: 50}), saying("command line", **{name: 60})) == 60
    assert value_of(name, saying("session", **{name: 70}), saying("command line", **{name: 60})) == 70
    assert value_of(name, saying("managed", **{name: 10}), saying("user", **{name: 20})) == 10
    assert value_of(name, saying("managed", **{name: 10}), saying("user", **{name: 9})) == 9


@pytest.mark.parametrize("name", ["limits__denials_in_a_row", "limits__denials_in_session", "limits__max_concurrency"])
def test_a_repository_cannot_raise_a_number_that_nobody_has_set(name: str) -> None:
    found = gather([saying("project", **{name: 1_000})], trusted=True)
    assert name.replace("__", ".") not in found.values
    assert "a repository can only make" in found.notes[0].text


def test_the_later_of_one_layer_counts() -> None:
    assert value_of("mode", saying("command line", mode="plan"), saying("command line", mode="bypass")) == "bypass"


@pytest.mark.spec("HOOK-3")
def test_a_command_of_a_repository_counts_when_it_is_trusted_and_nobody_has_their_own() -> None:
    theirs, mine = saying("project", questions__notify="theirs"), saying("user", questions__notify="mine")
    assert value_of("questions.notify", theirs, trusted=True) == "theirs"
    assert value_of("questions.notify", theirs, mine, trusted=True) == "mine"
    assert value_of("questions.notify", theirs, trusted=False) is None
    assert value_of("questions.notify", mine, trusted=False) == "mine"
    assert value_of("questions.notify", mine, saying("managed", questions__notify="ours")) == "ours"
    notes = [gather(said, trusted=bool(len(said) - 1)).notes[0].text for said in ([theirs], [theirs, mine])]
    start = "questions.notify = 'theirs' is ignored: "
    assert notes == [
        f"{start}settings of this folder are not used until you trust it: see callgate trust show",
        f"{start}your own settings set another value",
    ]


@pytest.mark.spec("STL-1")
def test_a_status_line_of_a_repository_counts_when_it_is_trusted_and_is_told_once_when_not() -> None:
    theirs = saying("project", statusline__command="theirs", statusline__refresh=5.0, statusline__padding=2)
    names = ("statusline__command", "statusline__refresh", "statusline__padding")
    assert [value_of(name, theirs, trusted=True) for name in names] == ["theirs", 5.0, 2]
    assert [value_of(name, theirs) for name in names] == [None, 0.0, 0]
    skipped = gather([theirs], trusted=False)
    assert [note.text for note in skipped.notes] == [
        "statusline.command = 'theirs' is ignored: "
        "settings of this folder are not used until you trust it: see callgate trust show"
    ]


def test_values_from_elsewhere_can_be_made_to_tighten_alone() -> None:
    def mode(elsewhere: Mode, own: Mode) -> object:
        said = SetValue("mode", elsewhere, Origin("environment", "X"))
        return gather([saying("user", mode=own)], trusted=False, tighten=[said]).settings.mode

    assert mode("plan", "bypass") == "plan"
    assert mode("bypass", "plan") == "plan"


def test_who_says_the_same_again_is_not_the_one_who_decided() -> None:
    for name, value in (("mode", "plan"), ("limits__max_turns", 5)):
        found = gather([saying("user", **{name: value}), saying("project", **{name: value})], trusted=False)
        assert found.values[name.replace("__", ".")].origin == at("user")
        assert found.notes == ()


def test_values_carry_where_they_came_from() -> None:
    found = gather([saying("local", mode="plan")], trusted=False)
    assert found.values["mode"] == SetValue("mode", "plan", at("local"))


# ---- where they come from -----------------------------------------------------------------------------------------


def test_the_words_of_a_command_line_are_settings_of_their_own() -> None:
    origin = Origin("command line")
    assert settings_of_arguments("command line", mode="plan", allow=["A"], ask=["B"], deny=["C", "D"]) == LayerSettings(
        "command line",
        rules=(
            RuleLine("allow", "A", origin),
            RuleLine("ask", "B", origin),
            RuleLine("deny", "C", origin),
            RuleLine("deny", "D", origin),
        ),
        plain=(SetValue("mode", "plan", origin),),
    )
    assert settings_of_arguments("session") == LayerSettings("session")


def repository(root: Path, **files: str) -> Path:
    folder = root / ".callgate"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name.replace('_', '.')}.toml").write_text(text)
    return root


def test_a_repository_has_two_files(tmp_path: Path) -> None:
    repository(tmp_path, settings="mode = 'plan'", settings_local="mode = 'dont_ask'")
    project, local = read_repository(tmp_path)
    assert (project.layer, project.file) == ("project", str(tmp_path / ".callgate" / "settings.toml"))
    assert (local.layer, local.file) == ("local", str(tmp_path / ".callgate" / "settings.local.toml"))
    assert [each.plain[0].value for each in (project, local)] == ["plan", "dont_ask"]


def test_a_repository_without_files_says_nothing(tmp_path: Path) -> None:
    assert [each.sha256 or each.faults for each in read_repository(tmp_path)] == [(), ()]


@pytest.mark.spec("GATE-3")
def test_settings_that_lead_outside_the_repository_are_a_fault(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    (tmp_path / "root-else.toml").write_text("mode = 'plan'")  # its path begins like that of the root
    (root / ".callgate" / "settings.toml").symlink_to("../../root-else.toml")
    (root / ".callgate" / "settings.local.toml").symlink_to(tmp_path / "nowhere")
    for found in read_repository(root):
        assert found.plain == ()
        assert [fault.text for fault in found.faults] == [
            ("this link leaves the repository: replace it with a regular file")
        ]


@pytest.mark.spec("GATE-3")
def test_a_settings_folder_that_leads_outside_the_repository_is_a_fault(tmp_path: Path) -> None:
    repository(tmp_path / "else", settings="mode = 'plan'")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".callgate").symlink_to(tmp_path / "else" / ".callgate")
    assert all(found.faults for found in read_repository(tmp_path / "root"))


def test_links_inside_the_repository_and_to_it_are_followed(tmp_path: Path) -> None:
    repository(tmp_path / "root")
    (tmp_path / "root" / "plain.toml").write_text("mode = 'plan'")
    (tmp_path / "root" / ".callgate" / "settings.toml").symlink_to("../plain.toml")
    (tmp_path / "link").symlink_to("root")
    project, local = read_repository(tmp_path / "link")
    assert project.plain[0].value == "plan"
    assert not project.faults
    assert not local.faults


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/ab", "/a", False),
        ("/", "/a", False),
        ("/a", "/", True),
        ("/", "/", True),
    ],
    ids=["itself", "below", "sibling", "above", "in the top", "the top"],
)
def test_within_means_the_folder_or_what_is_below_it(path: str, folder: str, inside: bool) -> None:
    assert is_beneath(path, folder) is inside
