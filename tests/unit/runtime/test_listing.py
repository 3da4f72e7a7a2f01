from __future__ import annotations

import asyncio

import pytest
from msgspec import Raw

from runtime.errors import DecodeError, Gone
from runtime.listing import read_all
from runtime.pages import Page
from tests.unit.runtime.scripted import failure


class Server:
    """Pages of one object each, by token; notes what is asked for, and what was decoded by then."""

    def __init__(self, pages: dict[str, str], seconds: float = 0.0) -> None:
        self._pages = pages
        self._seconds = seconds
        self.asked: list[str] = []
        self.decoded: list[str] = []
        self.when_asked: list[int] = []
        self.cancelled = 0

    async def read(self, limit: int, token: str) -> Page[Raw]:
        del limit
        self.asked.append(token)
        self.when_asked.append(len(self.decoded))
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        following = self._pages[token]
        if following == "gone":
            raise gone()
        return Page((Raw(f"after {token}".encode()),), "7", following)

    def decode(self, text: Raw) -> str:
        self.decoded.append(bytes(text).decode())
        return self.decoded[-1]


def gone() -> Gone:
    error = failure(410, "Expired")
    assert isinstance(error, Gone)
    return error


async def test_the_next_page_is_asked_for_before_one_is_decoded() -> None:
    server = Server({"": "a", "a": "b", "b": ""})
    listed = await read_all(server.read, server.decode, 500)
    assert listed.items == ("after ", "after a", "after b")
    assert listed.resource_version == "7"
    assert server.asked == ["", "a", "b"]
    assert server.when_asked == [0, 0, 1]


@pytest.mark.virtual_time
async def test_it_says_how_long_it_waited() -> None:
    server = Server({"": "a", "a": ""}, seconds=2.0)
    listed = await read_all(server.read, server.decode, 500)
    assert listed.waited == pytest.approx(4.0)


@pytest.mark.virtual_time
async def test_a_page_that_is_no_longer_wanted_is_not_waited_for() -> None:
    server = Server({"": "a", "a": ""}, seconds=2.0)

    def refuse(text: Raw) -> str:
        raise ValueError(bytes(text))

    with pytest.raises(ValueError, match="after"):
        await read_all(server.read, refuse, 500)
    await asyncio.sleep(0)
    assert server.cancelled == 1


async def test_a_list_without_end_is_told_before_another_page_is_asked_for() -> None:
    server = Server({"": "a", "a": "a"})
    with pytest.raises(DecodeError, match="no end"):
        await read_all(server.read, server.decode, 500)
    assert server.asked == ["", "a"]


async def test_a_list_that_was_forgotten_in_its_middle_starts_over() -> None:
    pages = {"": "a", "a": "gone"}
    server = Server(pages)
    reading = asyncio.create_task(read_all(server.read, server.decode, 500))
    while len(server.asked) < 3:
        await asyncio.sleep(0)
    pages["a"] = ""
    listed = await reading
    assert listed.items == ("after ", "after a")
