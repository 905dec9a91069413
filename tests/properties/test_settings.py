"""Settings: lines are found in any document, no content raises, and a repository never loosens anything."""

from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.entries import IN_REPOSITORY, HookLine, Layer, RuleLine
from callgate.policy.layers import Layers, gather, settings_of_arguments
from callgate.policy.setting_rows import SETTINGS, VALUE_ROWS
from callgate.policy.settings import LayerSettings, SetValue, read_settings
from callgate.words.decisions import Effect, Origin
from callgate.words.modes import MODES, Mode, is_stricter

# ---- positions ----------------------------------------------------------------------------------------------------

NOISE = st.sampled_from(["", " ", "\n", "# ]}'\"[{\n", "\n\n  # x = [\n\t"])
FORMS = st.sampled_from(['"{}"', "'{}'", '{{ rule = "{}" }}', "{{ note = 'why', rule = '{}' }}"])


@given(data=st.data())
def test_the_line_of_a_rule_holds_the_rule(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    number = 0
    text = data.draw(NOISE) + "[permissions]\n"
    for effect in data.draw(st.permutations(["allow", "ask", "deny"])):
        text += f"{effect} = ["
        for _ in range(data.draw(st.integers(0, 4))):
            number += 1
            rule = data.draw(FORMS).format(f"Bash(run{number} [x] # y)")
            text += f"{data.draw(NOISE)}{rule}{data.draw(NOISE)},"
        text += f"{data.draw(NOISE)}]\n"
    file = tmp_path_factory.mktemp("lines") / "settings.toml"
    file.write_text(data.draw(st.sampled_from(["\n", "\r\n"])).join(text.split("\n")), newline="")
    found = read_settings(file, "user")
    assert not found.faults
    assert len(found.rules) == number
    lines = text.split("\n")
    assert [rule.text for rule in found.rules if rule.text not in lines[rule.origin.line - 1]] == []


# ---- no content raises --------------------------------------------------------------------------------------------

NAMES = [part for key in SETTINGS for part in key.name.split(".")] + ["PreToolUse", "Stop", "x", "allow"]
ANY_VALUE = st.recursive(
    st.sampled_from(["1", "true", '"5m"', '"plan"', '"Bash(x)"', '""', "inf", "-1", "2027-01-01", "07:00:00", '"(["']),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: "[" + ", ".join(values) + "]"),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(
            lambda table: "{" + ", ".join(f'"{key}" = {value}' for key, value in table.items()) + "}"
        ),
    ),
    max_leaves=8,
)
TABLES = st.dictionaries(st.sampled_from(NAMES), ANY_VALUE, max_size=4).map(
    lambda table: "\n".join(f'"{key}" = {value}' for key, value in table.items()).encode()
)


@pytest.mark.spec("GATE-3")
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode), TABLES))
def test_no_content_raises_and_every_fault_has_its_file_and_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    found = read_settings(file, "user")
    for fault in found.faults:
        assert fault.origin.file == str(file)
        assert 1 <= fault.origin.line <= content.count(b"\n") + 1
        assert fault.text.isprintable()
    if found.faults:
        assert not any(rule.effect == "allow" for rule in found.rules)
        assert (found.hooks, found.plain) == ((), ())


# ---- layers -------------------------------------------------------------------------------------------------------

ANY_MODE = st.sampled_from(get_args(Mode))
NUMBERS = [name for name in VALUE_ROWS if name.startswith("limits.")] + ["questions.deadline"]


def value_of(layers: Layers, name: str) -> Any:
    return getattr(layers.settings, VALUE_ROWS[name].field)


@st.composite
def settings_of(draw: st.DrawFn, layer: Layer) -> LayerSettings:
    origin = Origin(layer, f"/{layer}", 1)
    plain = [SetValue("mode", draw(ANY_MODE), origin)] if draw(st.booleans()) else []
    plain += [SetValue(name, draw(st.integers(1, 30)), origin) for name in draw(st.sets(st.sampled_from(NUMBERS)))]
    if draw(st.booleans()):
        plain.append(SetValue("questions.notify", f"notify {layer}", origin))
    effects = draw(st.lists(st.sampled_from(get_args(Effect)), max_size=3))
    rules = tuple(RuleLine(effect, f"Tool{index}({layer})", origin) for index, effect in enumerate(effects))
    hooks = (HookLine("Stop", "command", layer, origin),) if draw(st.booleans()) else ()
    return LayerSettings(layer=layer, file=f"/{layer}", rules=rules, hooks=hooks, plain=tuple(plain))


REPOSITORY = st.tuples(*(settings_of(layer) for layer in IN_REPOSITORY))
OTHERS = st.tuples(*(settings_of(layer) for layer in get_args(Layer) if layer not in IN_REPOSITORY))


@pytest.mark.spec("GATE-3")
@given(own=OTHERS, repository=REPOSITORY, trusted=st.booleans())
def test_a_repository_only_tightens(
    own: tuple[LayerSettings, ...], repository: tuple[LayerSettings, ...], trusted: bool
) -> None:
    without, layered = gather(own, trusted=trusted), gather((*repository, *own), trusted=trusted)
    assert {rule for rule in layered.rules if rule.effect == "allow"} == {
        rule for rule in without.rules if rule.effect == "allow"
    }
    tight = {rule for each in (*own, *repository) for rule in each.rules if rule.effect != "allow"}
    assert {rule for rule in layered.rules if rule.effect != "allow"} == tight
    before, after = str(without.settings.mode), str(layered.settings.mode)
    strictness = {str(mode): each.strictness for mode, each in MODES.items()}
    assert after == before or strictness[after] > strictness[before]
    for name in NUMBERS:
        was, now = value_of(without, name), value_of(layered, name)
        assert now == was or was is None or float(str(now)) < float(str(was))
    if not trusted:
        assert layered.hooks == without.hooks
        assert layered.settings.questions_notify == without.settings.questions_notify
    if without.settings.questions_notify is not None:
        assert layered.settings.questions_notify == without.settings.questions_notify


@pytest.mark.spec("GATE-3")
@given(others=st.lists(st.sampled_from(get_args(Layer)[1:]).flatmap(settings_of)), managed=settings_of("managed"))
def test_nobody_is_less_strict_than_what_is_managed(others: list[LayerSettings], managed: LayerSettings) -> None:
    layered = gather((*others, managed), trusted=True)
    for said in managed.plain:
        value = value_of(layered, said.name)
        if said.name == "mode":
            assert value == said.value or is_stricter(cast(Mode, value), cast(Mode, said.value))
        elif said.name == "questions.notify":
            assert value == said.value
        else:
            assert float(str(value)) <= float(str(said.value))
    assert set(managed.rules) <= set(layered.rules)


@given(st.lists(st.sampled_from(get_args(Layer)).flatmap(settings_of), unique_by=lambda each: each.layer), st.randoms())
def test_the_order_in_which_layers_are_handed_over_does_not_matter(layers: list[LayerSettings], random: Any) -> None:
    mixed = layers.copy()
    random.shuffle(mixed)
    assert gather(mixed, trusted=True) == gather(layers, trusted=True)


def test_a_grant_of_the_command_line_is_kept(tmp_path: Path) -> None:
    said = settings_of_arguments("command line", allow=["Bash"], mode="plan")
    assert [rule.text for rule in gather([said], trusted=False).rules] == ["Bash"]
