"""What two runs print differently counts as the same, and nothing else does."""

from __future__ import annotations

import pytest

from hack.docs.masking import is_same


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("NAME  AGE\na     7s\n", "NAME AGE\na 2m3s\n"),
        ("hello   2026-11-30   Completed", "hello 2027-01-01 Completed"),
        ("at 2026-11-30T06:00:00Z", "at 2027-01-01T07:08:09.123456+01:00"),
        ("big-a38ad2d5-402c-4fa5-a9d6-28b5297fe6f5: Pending", "big-00000000-402c-4fa5-a9d6-28b5297fe6f5: Pending"),
        ("at 10.0.0.1:443", "at 10.96.0.17:6443"),
        ("took 21.5 ms", "took 3 ms"),
        ("report-2993339558-manual", "report-1234567890-manual"),
        ("own-7f4d9-abcde  Running", "own-7f4d9-x2z4q  Running"),
        ("first\n...\nlast\n", "first\na\nb\nlast\n"),
        ("first\n...\n", "first\n"),
        ("a\n...\nc\n...\n", "a\nb\nc\nd\n"),
    ],
)
def test_ages_times_identities_widths_and_what_is_left_out_do_not_count(shown: str, printed: str) -> None:
    assert is_same(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a Running 7s", "a Pending 7s"),
        ("3 pods", "4 pods"),
        ("a\nb\n", "a\n"),
        ("a\n", "a\nb\n"),
        ("cpu 8", "cpu 6"),
        ("first\n...\nlast\n", "first\na\n"),
        ("a\n...\nc\n", "b\nc\n"),
        ("", "a\n"),
    ],
)
def test_everything_else_does(shown: str, printed: str) -> None:
    assert not is_same(shown, printed)
