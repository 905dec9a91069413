"""The names others build on."""

import callgate.testing as testing


def test_all_names_are_there_and_sorted() -> None:
    assert testing.__all__ == sorted(testing.__all__)
    assert len(set(testing.__all__)) == len(testing.__all__)
    for name in testing.__all__:
        assert hasattr(testing, name)
