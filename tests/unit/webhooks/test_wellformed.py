from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks import wellformed
from webhooks.wellformed import (
    LABEL,
    LABEL_1035,
    SUBDOMAIN,
    address,
    backsteps,
    config_key,
    descending,
    descending_name,
    label,
    label_1035,
    label_value,
    port_name,
    qualified_name,
    search_domain,
    size,
    subdomain,
    sysctl,
    variable,
)

LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ()),
        ("a-1", ()),
        ("1", ()),
        ("", (LABEL,)),
        ("-a", (LABEL,)),
        ("A", (LABEL,)),
        ("a\n", (LABEL,)),
        ("a.b", ("must not contain dots",)),
        ("A.b", (LABEL,)),
        ("a" * 63, ()),
        ("a" * 64, ("must be no more than 63 characters",)),
        ("\u00e9" * 32, ("must be no more than 63 characters", LABEL)),
    ],
)
def test_labels(text: str, expected: tuple[str, ...]) -> None:
    assert label(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("a1", ()), ("1a", (LABEL_1035,)), ("a" * 64, ("must be no more than 63 characters",))]
)
def test_labels_of_services_begin_with_a_letter(text: str, expected: tuple[str, ...]) -> None:
    assert label_1035(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b-c.1", ()),
        ("a..b", (SUBDOMAIN,)),
        ("a_b", (SUBDOMAIN,)),
        ("a" * 254, ("must be no more than 253 characters",)),
    ],
)
def test_subdomains(text: str, expected: tuple[str, ...]) -> None:
    assert subdomain(text) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("MyName", []),
        ("a.b/My_Name", []),
        ("a/b/c", ["a valid label key must consist of"]),
        ("/a", ["prefix part must be non-empty"]),
        ("A/b", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("a/", ["name part must be non-empty", "name part must consist of"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("\u00e9" * 32, ["name part must be no more than 63 bytes", "name part must consist of"]),
    ],
)
def test_keys_of_labels(text: str, parts: list[str]) -> None:
    faults = qualified_name(text)
    assert len(faults) == len(parts)
    assert all(fault.startswith(part) for fault, part in zip(faults, parts, strict=True))


@pytest.mark.parametrize(("text", "count"), [("", 0), ("MyValue", 0), ("a b", 1), ("-", 1), ("-" * 64, 2)])
def test_values_of_labels(text: str, count: int) -> None:
    assert len(label_value(text)) == count


@pytest.mark.parametrize(
    ("text", "is_fine"), [("A B", True), ("1", True), ("=", False), ("", False), ("\t", False), ("\u00e9", False)]
)
def test_variables(text: str, is_fine: bool) -> None:
    assert (variable(text) == ()) is is_fine


@pytest.mark.parametrize(("text", "count"), [("web-1", 0), ("1", 1), ("", 2), ("-a--b-", 2), ("A", 2), ("a" * 16, 1)])
def test_names_of_ports(text: str, count: int) -> None:
    assert len(port_name(text)) == count


@pytest.mark.parametrize(
    ("text", "count"), [("a_B.c-1", 0), ("..", 1), (".", 1), ("..a", 1), ("a b", 1), ("k" * 254, 1)]
)
def test_keys_of_config_maps(text: str, count: int) -> None:
    assert len(config_key(text)) == count


@pytest.mark.parametrize(("text", "is_fine"), [(".", True), ("a.", True), ("_a._b", True), ("-a", False), ("", False)])
def test_search_paths(text: str, is_fine: bool) -> None:
    assert (search_domain(text) == ()) is is_fine


@pytest.mark.parametrize(
    ("text", "is_fine"), [("kernel.shm_max", True), ("net/ipv4", True), ("a b", False), ("a" * 254, False)]
)
def test_kernel_parameters(text: str, is_fine: bool) -> None:
    assert (sysctl(text) == ()) is is_fine


@pytest.mark.parametrize(
    ("text", "is_fine"), [("010.1.1.1", True), ("::1", True), ("fe80::1%eth0", False), ("1.1.1", False), ("", False)]
)
def test_addresses(text: str, is_fine: bool) -> None:
    assert (address(text) == ()) is is_fine


@given(st.ip_addresses())
def test_every_address_is_one(given_address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert address(str(given_address)) == ()


@pytest.mark.parametrize(
    ("text", "up", "below", "named"),
    [("a/b", 0, 0, 0), ("a/../b", 1, 1, 1), ("/a", 0, 1, 1), ("..a", 0, 0, 1), ("../a", 1, 1, 1)],
)
def test_paths(text: str, up: int, below: int, named: int) -> None:
    assert (len(backsteps(text)), len(descending(text)), len(descending_name(text))) == (up, below, named)


@given(st.text())
def test_every_text_has_an_answer(text: str) -> None:
    for question in (
        label,
        label_1035,
        subdomain,
        qualified_name,
        label_value,
        variable,
        config_key,
        port_name,
        sysctl,
    ):
        assert all(isinstance(fault, str) for fault in question(text))
    assert size(text) == len(text.encode("utf-8", "surrogatepass"))


@given(st.text(LOWER, min_size=1, max_size=63))
def test_a_label_is_a_subdomain_and_a_key(text: str) -> None:
    assert label(text) == subdomain(text) == qualified_name(text) == wellformed.label_value(text) == ()


@given(st.text(f"{LOWER}-.A", max_size=66))
def test_asking_for_labels_without_the_words_gives_the_same_answer(text: str) -> None:
    assert wellformed.is_label(text) is (label(text) == ())
