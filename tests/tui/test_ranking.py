"""Paths for completion: which fit, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tui.composer.completion_sources import MOST_FITS, PathIndex

FILES = (
    "README.md",
    "src/app/main.py",
    "src/app/my file.txt",
    "src/app/domain.py",
    "src/app/the_main_part.py",
    "src/main/other.py",
    "src/core/session.py",
    "tests/test_main.py",
    "docs/Makefile",
)


def ranked(typed: str) -> list[str]:
    return PathIndex.of(FILES).ranked(typed)


def test_a_name_that_begins_with_the_text_goes_before_a_word_its_middle_and_its_folder() -> None:
    assert ranked("main") == [
        "src/main/",
        "src/app/main.py",
        "tests/test_main.py",
        "src/app/the_main_part.py",
        "src/app/domain.py",
        "src/main/other.py",
    ]


def test_letters_in_order_are_enough_and_beginnings_of_words_count_most() -> None:
    assert ranked("thmp")[0] == "src/app/the_main_part.py"
    assert ranked("coreses")[0] == "src/core/session.py"
    assert ranked("xyz") == []


def test_capitals_do_not_matter_and_a_path_may_be_typed_in_part() -> None:
    assert ranked("MAKE") == ["docs/Makefile"]
    assert ranked("app/ma")[0] == "src/app/main.py"


def test_folders_are_listed_with_a_slash_and_nothing_typed_gives_what_lies_near() -> None:
    assert ranked("")[:4] == ["src/", "docs/", "tests/", "README.md"]
    assert ranked("src/")[0] == "src/"


def test_a_longer_text_gives_the_same_whether_it_was_typed_letter_by_letter_or_at_once() -> None:
    names = [f"{name}_{number}.py" for name in ("view", "form") for number in range(99)]
    index = PathIndex.of(f"{folder}/{name}" for folder in "abc" for name in names)
    for word in ("bform7", "viw9.p", "c/form_12.py"):
        steps = [index.ranked(word[:end]) for end in range(1, len(word) + 1)]
        assert steps[-1] == PathIndex.of(index.paths).ranked(word)


def test_a_longer_text_is_searched_only_in_the_paths_that_matched_before(monkeypatch: pytest.MonkeyPatch) -> None:
    index = PathIndex.of(f"p{number}_{'needle' if number % 100 == 0 else 'hay'}.py" for number in range(3000))
    searched: list[int] = []
    ranked = PathIndex.ranked

    def counted(self: PathIndex, typed: str) -> list[str]:
        searched.append(len(self.paths))
        return ranked(self, typed)

    monkeypatch.setattr(PathIndex, "ranked", counted)

    def last_searched(typed: str) -> int:
        searched.clear()
        found = index.ranked(typed)
        count = searched[-1]
        assert found == PathIndex(index.paths).ranked(typed)
        return count

    assert last_searched("n") == 3000
    assert [last_searched(typed) for typed in ("ne", "ned", "need", "needx", "needxy")] == [30, 30, 30, 30, 0]
    assert last_searched("need") == 30
    assert last_searched("hay") == 3000
    assert last_searched("nex") == 30


@given(st.lists(st.text("ab/_. é\n", min_size=1, max_size=8), max_size=12), st.text("ab/_.É", max_size=4))
def test_what_is_given_holds_the_letters_and_comes_once(paths: list[str], typed: str) -> None:
    found = PathIndex.of(paths).ranked(typed)
    assert len(found) == len({*found}) <= MOST_FITS
    for path in found:
        rest = iter(path.lower().replace("\n", " "))
        assert all(sign in rest for sign in typed.lower())
