from __future__ import annotations

import gc

import pytest

from runtime import garbage


def test_what_is_there_is_left_alone_and_all_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    mine: list[object] = []
    mine.append(mine)
    with garbage.long_lived():
        assert gc.get_freeze_count() > 1000
        assert not any(each is mine for each in gc.get_objects())
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_freeze_count() == 0
    assert any(each is mine for each in gc.get_objects())
    assert gc.get_threshold() == before


def test_an_error_passes_and_leaves_nothing_behind() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="x"), garbage.long_lived():
        raise ValueError("x")
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
