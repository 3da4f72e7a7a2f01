from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.urls import is_host_name, shown, usable_url


@pytest.mark.parametrize(
    "text",
    [
        "http://x",
        "https://x:6443/clusters/a",
        "http://[fd00::1]:80",
        "https://under_score.example.org.",
        "http://me:pw@x:1",
    ],
)
def test_urls_with_a_host_can_be_used(text: str) -> None:
    assert usable_url(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "http://", "http://:80", "http://[::1", "http://x:port", "http://x:99999", "http://x:0"),
        *("http://a..b", "http://.a", f"http://{'a' * 64}", "http://x/\n", "http://x\r", "http://x y", "http://x\0"),
        "http://x/\u2603",
    ],
)
def test_texts_that_no_request_can_go_to_are_no_urls(text: str) -> None:
    assert usable_url(text) is None


@given(st.text())
def test_any_text_is_a_url_or_none(text: str) -> None:
    for url in (text, f"http://{text}", f"https://x:{text}"):
        usable_url(url)
        is_host_name(url)
        shown(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x:1/a@b", "https://x:1/a@b"),
        ("http://user:sekret@x:1/a", "http://***@x:1/a"),
        ("http://token@x", "http://***@x"),
        ("http://user:se@kret@x", "http://***@x"),
        ("user:sekret@x:1", "***@x:1"),
        ("http://user:sek/ret@x:1", "http://***@x:1"),
        ("http://user:sekret@[::1", "http://***@[::1"),
    ],
)
def test_passwords_are_not_shown(url: str, expected: str) -> None:
    assert shown(url) == expected
