from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import actions, plugins
from scheduler.settings.conf import SWITCHES
from scheduler.settings.nearest import hint, nearest

WORDS = sorted({*actions.BUILT_IN, *plugins.BUILT_IN, *SWITCHES})


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("gnag", "gang"),
        ("alocate", "allocate"),
        ("dfr", "drf"),
        ("GANG", "gang"),
        ("node-order", "nodeorder"),
        ("proportions", "proportion"),
        ("enabledPredicate", "enablePredicate"),
        ("volcano", ""),
        ("", ""),
    ],
)
def test_the_word_that_was_meant_is_found(word: str, expected: str) -> None:
    assert nearest(word, WORDS) == expected
    assert hint(word, WORDS) == (f", did you mean {expected}?" if expected else "")


@given(st.sampled_from(WORDS), st.data())
def test_two_letters_that_changed_places_hide_no_word(word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(word) - 2))
    slip = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    assert nearest(slip, [word]) == word
