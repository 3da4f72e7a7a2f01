from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import DecodeError, Gone
from runtime.objects import Key
from runtime.pages import MOST_PAGES, Page, Pager, read_page
from runtime.wire import Status
from tests.things import THINGS, Thing
from tests.unit.runtime.nested import DEEP as DEPTH
from tests.unit.runtime.nested import TOO_DEEP


def page_body(items: Sequence[Any] | None, version: str = "9", /, **meta: Any) -> bytes:
    return msgspec.json.encode({"kind": "ThingList", "metadata": {"resourceVersion": version, **meta}, "items": items})


def thing(name: str, **spec: Any) -> Mapping[str, Any]:
    return {"metadata": {"name": name, "namespace": "n"}, "spec": spec}


def names(page: Page[Thing]) -> list[str]:
    return [item.metadata.name for item in page.items]


def test_a_page_has_items_version_and_the_token_of_the_next() -> None:
    page = read_page(THINGS, page_body([thing("a"), thing("b")], **{"continue": "token", "remainingItemCount": 3}))
    assert names(page) == ["a", "b"]
    assert (page.resource_version, page.continue_, page.unreadable) == ("9", "token", ())


@pytest.mark.parametrize("body", [page_body([]), page_body(None), b'{"metadata":{"resourceVersion":"9"}}'])
def test_an_empty_list_may_be_written_as_null(body: bytes) -> None:
    assert read_page(THINGS, body) == Page((), "9")


def test_an_unreadable_object_is_named_and_costs_no_other() -> None:
    page = read_page(THINGS, page_body([thing("a"), thing("bad", size="much"), thing("c")], **{"continue": "t"}))
    assert names(page) == ["a", "c"]
    assert (page.resource_version, page.continue_) == ("9", "t")
    (bad,) = page.unreadable
    assert bad.key == Key("n", "bad")
    assert str(bad.error) == "Thing n/bad: spec.size: Expected `int`, got `str`"
    assert bad.error.field == "spec.size"


def test_objects_with_nulls_are_readable_beside_unreadable_ones() -> None:
    page = read_page(THINGS, page_body([thing("a", tags=None), thing("bad", size=[]), "no object"]))
    assert names(page) == ["a"]
    assert [bad.key for bad in page.unreadable] == [Key("n", "bad"), Key("", "")]


def test_an_own_decoder_gets_the_text_of_each_object() -> None:
    def decode(raw: msgspec.Raw) -> Thing:
        found = msgspec.json.decode(raw, type=Thing)
        if found.spec.size > 1:
            raise RuntimeError("too large")
        return found

    page = read_page(THINGS, page_body([thing("a", size=1), thing("b", size=2)]), decode)
    assert names(page) == ["a"]
    assert str(page.unreadable[0].error) == "Thing n/b: too large"


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"items":[{]}', b'{"items":{}}', b'{"metadata":3}', b"[]"])
@pytest.mark.parametrize("decode", [None, lambda _raw: Thing()])
def test_an_answer_that_is_no_list_is_an_error(body: bytes, decode: Any) -> None:
    with pytest.raises(DecodeError, match=r"things\.example\.org: the answer is no list"):
        read_page(THINGS, body, decode)


@given(st.lists(st.one_of(st.integers(0, 99), st.text(max_size=3), st.none(), st.lists(st.integers(), max_size=1))))
def test_every_object_of_a_page_is_either_read_or_named(sizes: list[Any]) -> None:
    page = read_page(THINGS, page_body([thing(str(index), size=size) for index, size in enumerate(sizes)]))
    good = [str(index) for index, size in enumerate(sizes) if size is None or isinstance(size, int)]
    assert names(page) == good
    assert sorted([*good, *(bad.key.name for bad in page.unreadable)], key=int) == [str(n) for n in range(len(sizes))]


DEEP = b'{"metadata":{"name":"deep","namespace":"n"},"spec":{"note":' + DEPTH + b"}}"
NO_TEXT = b'{"metadata":{"name":"deep","namespace":"n"},"spec":{"tags":["\xff"]}}'


@pytest.mark.parametrize(("bad", "problem"), [(DEEP, "nested deeper than can be read"), (NO_TEXT, "Invalid UTF-8")])
@pytest.mark.parametrize("decode", [None, msgspec.json.Decoder(Thing).decode])
def test_an_object_that_the_parser_itself_refuses_costs_no_other(bad: bytes, problem: str, decode: Any) -> None:
    a, c = (msgspec.json.encode(thing(name)) for name in "ac")
    body = b'{"metadata":{"resourceVersion":"9","continue":"t"},"items":[%s,%s,%s]}' % (a, bad, c)
    page = read_page(THINGS, body, decode)
    assert names(page) == ["a", "c"]
    assert (page.resource_version, page.continue_) == ("9", "t")
    assert page.unreadable[0].key == Key("n", "deep")
    assert str(page.unreadable[0].error).startswith(f"Thing n/deep: {problem}")


def test_a_deep_object_reaches_an_own_decoder_whole() -> None:
    page = read_page(THINGS.with_model(msgspec.Raw), b'{"items":[%s,{}]}' % DEEP, lambda raw: raw)
    assert [bytes(raw) for raw in page.items] == [DEEP, b"{}"]


@pytest.mark.parametrize("body", [b"[" * TOO_DEEP, b'{"metadata":{"continue":"\xff"}}'])
def test_an_answer_that_the_parser_itself_refuses_is_no_list(body: bytes) -> None:
    with pytest.raises(DecodeError, match="the answer is no list"):
        read_page(THINGS, body)


def gone() -> Gone:
    return Gone(Status(code=410, message="token expired"))


def small(name: str, continue_: str = "", version: str = "9") -> Page[Thing]:
    return read_page(THINGS, page_body([thing(name)], version, **({"continue": continue_} if continue_ else {})))


def test_a_pager_follows_the_tokens_and_joins_the_pages() -> None:
    pager: Pager[Thing] = Pager(2)
    assert (pager.limit, pager.continue_, pager.is_complete) == (2, "", False)
    pager.take(small("a", "t1"))
    assert (pager.continue_, pager.is_complete) == ("t1", False)
    pager.take(small("b"))
    assert pager.is_complete
    assert names(pager.result()) == ["a", "b"]
    assert pager.result().resource_version == "9"


def test_a_list_that_expires_in_the_middle_starts_over_without_the_old_pages() -> None:
    pager: Pager[Thing] = Pager(2)
    pager.take(small("old", "t1", "5"))
    pager.restart(gone())
    assert (pager.limit, pager.continue_, pager.is_complete) == (2, "", False)
    pager.take(small("new", version="8"))
    assert names(pager.result()) == ["new"]
    assert pager.result().resource_version == "8"


def test_unreadable_objects_of_an_expired_list_are_forgotten_too() -> None:
    pager: Pager[Thing] = Pager(2)
    pager.take(read_page(THINGS, page_body([thing("bad", size="x")], **{"continue": "t"})))
    pager.restart(gone())
    pager.take(small("new"))
    assert pager.result().unreadable == ()


def test_a_list_that_expires_again_is_read_in_one_go() -> None:
    pager: Pager[Thing] = Pager(2)
    for _ in range(2):
        pager.take(small("a", "t"))
        pager.restart(gone())
    assert pager.limit == 0


def test_a_410_on_a_first_page_is_the_callers() -> None:
    pager: Pager[Thing] = Pager(2)
    with pytest.raises(Gone, match="token expired"):
        pager.restart(gone())


def test_a_list_that_expires_without_pages_too_is_the_callers() -> None:
    pager: Pager[Thing] = Pager(2)
    for _ in range(2):
        pager.take(small("a", "t"))
        pager.restart(gone())
    pager.take(small("a", "t"))
    with pytest.raises(Gone, match="token expired"):
        pager.restart(gone())


def test_a_token_that_comes_back_is_an_error() -> None:
    pager: Pager[Thing] = Pager(2)
    pager.take(small("a", "t1"))
    pager.take(small("b", "t2"))
    with pytest.raises(DecodeError, match="the list has no end: page 3 leads back"):
        pager.take(small("c", "t1"))


def test_a_token_of_an_expired_list_may_come_again() -> None:
    pager: Pager[Thing] = Pager(2)
    pager.take(small("a", "t1"))
    pager.restart(gone())
    pager.take(small("a", "t1"))
    assert pager.continue_ == "t1"


def test_pages_without_number_are_an_error() -> None:
    pager: Pager[Thing] = Pager(2)
    for number in range(MOST_PAGES):
        pager.take(Page((), "9", f"t{number}"))
    with pytest.raises(DecodeError, match=f"more than {MOST_PAGES} pages"):
        pager.take(Page((), "9", "another"))
