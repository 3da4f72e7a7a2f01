from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime import filewatch
from runtime.filewatch import HAS_INOTIFY, Contents, follow
from tests.unit.runtime.tls_clients import eventually

LONG = 3600.0
"""A poll that no test waits for: what is seen was told by the kernel."""

POLLING: dict[str, Any] = {"inotify": False, "poll_alone": 0.01}
WATCHING: dict[str, Any] = {"poll": LONG, "poll_alone": LONG}
WAYS = [pytest.param(way, id=name) for name, way in (("poll", POLLING), ("inotify", WATCHING))[: 1 + HAS_INOTIFY]]


async def after(changes: AsyncGenerator[Contents, None], path: Path) -> bytes | None:
    """What the file holds when the next difference is seen."""
    return (await asyncio.wait_for(anext(changes), 20))[path]


async def until(changes: AsyncGenerator[Contents, None], path: Path, expected: bytes | None) -> None:
    """Wait until the file is seen with these contents; a writer may be seen half done before."""
    async with asyncio.timeout(20):
        async for contents in changes:
            if contents[path] == expected:
                return


def mount(directory: Path, **files: str) -> None:
    """Write files as a mounted Secret does: into a new directory, to which a symlink is then swapped."""
    generation = directory / f"..{len(list(directory.iterdir()))}"
    generation.mkdir()
    for name, text in files.items():
        (generation / name).write_text(text)
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(Path("..data") / name)
    new = directory / "..data_tmp"
    new.symlink_to(generation.name)
    new.rename(directory / "..data")


@pytest.mark.parametrize("way", WAYS)
async def test_a_file_is_seen_now_and_when_it_changes(way: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("1")
    async with aclosing(follow([file], **way)) as changes:
        assert await after(changes, file) == b"1"
        file.write_text("22")
        await until(changes, file, b"22")
        (tmp_path / "new").write_text("333")
        (tmp_path / "new").rename(file)
        await until(changes, file, b"333")
        file.unlink()
        await until(changes, file, None)
        file.write_text("4")
        await until(changes, file, b"4")


@pytest.mark.parametrize("way", WAYS)
async def test_a_mounted_secret_is_seen_whole(way: dict[str, Any], tmp_path: Path) -> None:
    mount(tmp_path, cert="c1", key="k1")
    cert, key = tmp_path / "cert", tmp_path / "key"
    async with aclosing(follow([cert, key], **way)) as changes:
        assert await anext(changes) == {cert: b"c1", key: b"k1"}
        for number in (2, 3):
            mount(tmp_path, cert=f"c{number}", key=f"k{number}")
            expected = {cert: f"c{number}".encode(), key: f"k{number}".encode()}
            assert await asyncio.wait_for(anext(changes), 20) == expected


@pytest.mark.parametrize("way", WAYS)
async def test_a_link_to_another_directory_is_followed(way: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "near" / "file"
    target.write_text("1")
    link.symlink_to(Path("..") / "far" / "file")
    async with aclosing(follow([link], **way)) as changes:
        assert await after(changes, link) == b"1"
        target.write_text("2")
        await until(changes, link, b"2")


async def test_a_directory_that_comes_later_is_found_by_polling(tmp_path: Path) -> None:
    file = tmp_path / "later" / "file"
    async with aclosing(follow([file], poll=LONG, poll_alone=0.01)) as changes:
        assert await after(changes, file) is None
        file.parent.mkdir()
        file.write_text("1")
        await until(changes, file, b"1")
        file.write_text("2")
        await until(changes, file, b"2")


async def test_what_the_kernel_does_not_tell_is_found_by_a_slow_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filewatch, "_watch_directories", lambda events, files: True)
    file = tmp_path / "file"
    file.write_text("1")
    async with aclosing(follow([file], poll=0.01, poll_alone=LONG)) as changes:
        assert await after(changes, file) == b"1"
        file.write_text("2")
        await until(changes, file, b"2")


@pytest.mark.parametrize("way", WAYS)
async def test_what_leaves_the_contents_alone_is_no_news(
    way: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, read = tmp_path / "file", filewatch._read
    looks: list[Path] = []

    def noting(path: Path) -> bytes | None:
        looks.append(path)
        return read(path)

    def has_looked_since(seen: int) -> bool:
        return len(looks) > seen

    monkeypatch.setattr(filewatch, "_read", noting)
    file.write_text("1")
    async with aclosing(follow([file], **way)) as changes:
        assert await after(changes, file) == b"1"
        news = asyncio.ensure_future(anext(changes))
        for number in range(3):
            seen = len(looks)
            (tmp_path / f"other-{number}").write_text("x")
            file.touch()
            await eventually(partial(has_looked_since, seen))
        assert not news.done()
        file.write_text("2")
        assert (await asyncio.wait_for(news, 20))[file] in {b"", b"2"}


async def test_without_an_inotify_instance_files_are_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_: int) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(filewatch, "Inotify", refuse)
    file = tmp_path / "file"
    file.write_text("1")
    async with aclosing(follow([file], poll=LONG, poll_alone=0.01)) as changes:
        assert await after(changes, file) == b"1"
        file.write_text("2")
        await until(changes, file, b"2")
    assert "no inotify instance left" in caplog.text


async def test_a_cancelled_follower_gives_its_descriptors_back(tmp_path: Path) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/dev/fd").iterdir())

    file = tmp_path / "file"
    seen = asyncio.Event()

    async def consume() -> None:
        async with aclosing(follow([file], poll=LONG, poll_alone=LONG)) as changes:
            async for _ in changes:
                seen.set()

    before = descriptors()
    task = asyncio.ensure_future(consume())
    await seen.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert descriptors() == before


async def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    async with aclosing(follow([tmp_path / "a"], poll=LONG, poll_alone=0.01)) as changes:
        assert await after(changes, tmp_path / "a") is None


@pytest.mark.parametrize("way", WAYS)
async def test_a_function_names_the_files_anew_at_each_look(tmp_path: Path, way: dict[str, Any]) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"1")
    async with aclosing(follow(lambda: [tmp_path / ".any", *tmp_path.glob("[a-z]")], **way)) as changes:
        assert {path.name for path in await asyncio.wait_for(anext(changes), 20)} == {".any", "a"}
        second.write_bytes(b"2")
        async with asyncio.timeout(20):
            async for contents in changes:
                if contents.get(second) == b"2":
                    break
        first.unlink()
        async with asyncio.timeout(20):
            async for contents in changes:
                if first not in contents:
                    break
