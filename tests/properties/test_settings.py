"""Settings: lines are found in any document, no content raises, and a repository never loosens anything."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.entries import IN_REPOSITORY, HookLine, Layer, RuleLine
from callgate.policy.keys import DEFAULTS, SETTINGS
from callgate.policy.layers import gather, spoken
from callgate.policy.settings import Settings, SetValue, read_settings
from callgate.policy.toml_lines import locate
from callgate.words.decisions import Effect, Origin
from callgate.words.modes import MODES, Mode, is_stricter

# ---- positions ----------------------------------------------------------------------------------------------------

NOISE = st.sampled_from(["", " ", "\n", "# ]}'\"[{\n", "\n\n  # x = [\n\t"])
ODD_TEXT = st.text(st.sampled_from(list("ab[]{}#=,.'\"\\ \n")), max_size=12)


class Writer:
    """Writes a document in a random style. Every plain value holds a number of its own."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw
        self._number = 100_000
        self._names = 0

    def name(self) -> str:
        self._names += 1
        bare = f"k{self._names}"
        return self._draw(st.sampled_from([bare, f'"{bare}.#]"', f"'{bare} = ['", f'"{bare}\\u0041"']))

    def key(self) -> str:
        return self._draw(st.sampled_from([".", " . "])).join(self.name() for _ in range(self._draw(st.integers(1, 3))))

    def number(self) -> str:
        self._number += 1
        return str(self._number)

    def plain(self) -> str:
        number, odd = self.number(), self._draw(ODD_TEXT)
        line = odd.replace("\n", "")
        escaped = line.replace("\\", "\\\\").replace('"', '\\"')
        return self._draw(
            st.sampled_from(
                [
                    number,
                    f"{number}.5",
                    f'"{number}{escaped}"',
                    f"'{number}{line.replace(chr(39), '')}'",
                    f'"""{number}{odd.replace(chr(92), "").replace(chr(34), "")}"""',
                    f'"""{number}\n"" [x]\n\\""""""',
                    f"'''{number}{odd.replace(chr(39), '')}'''",
                    f"'''{number}\n['' = #'''''",
                ]
            )
        )

    def value(self, depth: int) -> str:
        kind = self._draw(st.sampled_from(["plain", "array", "table"])) if depth else "plain"
        if kind == "plain":
            return self.plain()
        count = self._draw(st.integers(0, 3))
        if kind == "table":
            return "{" + " , ".join(f"{self.key()} = {self.value(depth - 1)}" for _ in range(count)) + " }"
        parts = [f"{self._draw(NOISE)}{self.value(depth - 1)}{self._draw(NOISE)}" for _ in range(count)]
        return "[" + ",".join(parts) + ("," if parts and self._draw(st.booleans()) else "") + self._draw(NOISE) + "]"

    def pairs(self) -> Iterator[str]:
        for _ in range(self._draw(st.integers(0, 3))):
            yield f"{self.key()} = {self.value(3)} # done ]"

    def document(self) -> str:
        lines = list(self.pairs())
        for _ in range(self._draw(st.integers(0, 3))):
            lines.append(self._draw(NOISE))
            if self._draw(st.booleans()):
                lines += [f"[{self.key()}]", *self.pairs()]
                continue
            header = self.key()
            for _ in range(self._draw(st.integers(1, 3))):
                lines += [f"[[ {header} ]]", *self.pairs()]
                if self._draw(st.booleans()):
                    lines += [f"[{header}.{self.name()}]", *self.pairs()]
        return self._draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


@given(st.data())
def test_the_line_that_is_found_holds_the_value(data: st.DataObject) -> None:
    text = Writer(data).document()
    lines, positions = text.replace("\r\n", "\n").split("\n"), locate(text)
    for path, value in leaves(tomllib.loads(text)):
        assert str(value)[:6] in lines[positions.line_of(path) - 1], (path, text)
        assert path in positions.lines


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
NUMBERS = [name for name in DEFAULTS if name.startswith("limits.")] + ["questions.deadline"]


@st.composite
def settings_of(draw: st.DrawFn, layer: Layer) -> Settings:
    origin = Origin(layer, f"/{layer}", 1)
    plain = [SetValue("mode", draw(ANY_MODE), origin)] if draw(st.booleans()) else []
    plain += [SetValue(name, draw(st.integers(1, 30)), origin) for name in draw(st.sets(st.sampled_from(NUMBERS)))]
    if draw(st.booleans()):
        plain.append(SetValue("questions.notify", f"notify {layer}", origin))
    effects = draw(st.lists(st.sampled_from(get_args(Effect)), max_size=3))
    rules = tuple(RuleLine(effect, f"Tool{index}({layer})", origin) for index, effect in enumerate(effects))
    hooks = (HookLine("Stop", "command", layer, origin),) if draw(st.booleans()) else ()
    return Settings(layer=layer, file=f"/{layer}", rules=rules, hooks=hooks, plain=tuple(plain))


REPOSITORY = st.tuples(*(settings_of(layer) for layer in IN_REPOSITORY))
OTHERS = st.tuples(*(settings_of(layer) for layer in get_args(Layer) if layer not in IN_REPOSITORY))


@pytest.mark.spec("GATE-3")
@given(own=OTHERS, repository=REPOSITORY, trusted=st.booleans())
def test_a_repository_only_tightens(own: tuple[Settings, ...], repository: tuple[Settings, ...], trusted: bool) -> None:
    without, layered = gather(own, trusted=trusted), gather((*repository, *own), trusted=trusted)
    assert {rule for rule in layered.rules if rule.effect == "allow"} == {
        rule for rule in without.rules if rule.effect == "allow"
    }
    tight = {rule for each in (*own, *repository) for rule in each.rules if rule.effect != "allow"}
    assert {rule for rule in layered.rules if rule.effect != "allow"} == tight
    before, after = str(without.value("mode")), str(layered.value("mode"))
    strictness = {str(mode): each.strictness for mode, each in MODES.items()}
    assert after == before or strictness[after] > strictness[before]
    for name in NUMBERS:
        was, now = without.value(name), layered.value(name)
        assert now == was or was is None or float(str(now)) < float(str(was))
    if not trusted:
        assert layered.hooks == without.hooks
        assert layered.value("questions.notify") == without.value("questions.notify")
    if without.value("questions.notify") is not None:
        assert layered.value("questions.notify") == without.value("questions.notify")


@pytest.mark.spec("GATE-3")
@given(others=st.lists(st.sampled_from(get_args(Layer)[1:]).flatmap(settings_of)), managed=settings_of("managed"))
def test_nobody_is_less_strict_than_what_is_managed(others: list[Settings], managed: Settings) -> None:
    layered = gather((*others, managed), trusted=True)
    for said in managed.plain:
        value = layered.value(said.name)
        if said.name == "mode":
            assert value == said.value or is_stricter(cast(Mode, value), cast(Mode, said.value))
        elif said.name == "questions.notify":
            assert value == said.value
        else:
            assert float(str(value)) <= float(str(said.value))
    assert set(managed.rules) <= set(layered.rules)


@given(st.lists(st.sampled_from(get_args(Layer)).flatmap(settings_of), unique_by=lambda each: each.layer), st.randoms())
def test_the_order_in_which_layers_are_handed_over_does_not_matter(layers: list[Settings], random: Any) -> None:
    mixed = layers.copy()
    random.shuffle(mixed)
    assert gather(mixed, trusted=True) == gather(layers, trusted=True)


def test_a_grant_of_the_command_line_is_kept(tmp_path: Path) -> None:
    said = spoken("command line", allow=["Bash"], mode="plan")
    assert [rule.text for rule in gather([said], trusted=False).rules] == ["Bash"]
