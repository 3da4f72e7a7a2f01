from __future__ import annotations

import pytest

from runtime.errors import ConfigError
from runtime.proxies import proxy_for

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://api.example.org:6443", {}, ""),
        ("https://api.example.org:6443", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://api.example.org:6443", {"https_proxy": PROXY}, PROXY),
        ("https://api.example.org:6443", {"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, PROXY),
        ("https://api.example.org:6443", {"HTTP_PROXY": PROXY}, ""),
        ("http://api.example.org", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://api.example.org", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ""),
    ],
)
def test_the_environment_names_the_proxy(server: str, environ: dict[str, str], expected: str) -> None:
    assert proxy_for(server, environ) == expected


@pytest.mark.parametrize(
    ("server", "no_proxy", "direct"),
    [
        ("https://api.example.org", "*", True),
        ("https://api.example.org", "example.org", True),
        ("https://api.example.org", ".example.org", True),
        ("https://api.example.org", "*.example.org", True),
        ("https://example.org", "example.org", True),
        ("https://example.org", ".example.org", False),
        ("https://example.org", "*.example.org", False),
        ("https://example.org", ".", False),
        ("https://badexample.org", ".example.org", False),
        ("https://api.example.org", "*example.org", False),
        ("https://api.example.org", ".EXAMPLE.org:443", True),
        ("https://api.example.org", ".example.org:6443", False),
        ("https://api.example.org", ":443", False),
        ("https://api.example.org", "other.org, API.example.org", True),
        ("https://api.example.org", "ample.org", False),
        ("https://api.example.org", "api.example.org:6443", False),
        ("https://api.example.org:6443", "api.example.org:6443", True),
        ("https://10.96.0.1", "10.0.0.0/8", True),
        ("https://11.96.0.1", "10.0.0.0/8", False),
        ("https://api.example.org", "10.0.0.0/8", False),
        ("https://10.96.0.1", "10.96.0.1", True),
        ("https://10.96.0.1", "nonsense/99", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://[fd00::1]", "fd00:0::0:1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]", "[fd00::1]:6443", False),
        ("https://10.96.0.1", ",,", False),
    ],
)
def test_no_proxy_excludes_names_addresses_and_networks(server: str, no_proxy: str, direct: bool) -> None:
    assert (proxy_for(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}) == "") is direct


@pytest.mark.parametrize("proxy", ["http://p:99999", "http://[::1", "http://", "p:port"])
def test_a_proxy_that_cannot_be_dialled_is_refused_by_name(proxy: str) -> None:
    with pytest.raises(ConfigError, match=r"HTTPS_PROXY: '.*' is no http URL"):
        proxy_for("https://api.example.org", {"HTTPS_PROXY": proxy})


def test_a_refused_proxys_password_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        proxy_for("https://api.example.org", {"HTTPS_PROXY": "socks5://me:sekret@p"})
    assert "sekret" not in str(caught.value)


def test_other_kinds_of_proxy_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY: 'socks5://p:1': only http:// proxies"):
        proxy_for("https://api.example.org", {"HTTPS_PROXY": "socks5://p:1"})
