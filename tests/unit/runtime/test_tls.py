from __future__ import annotations

import logging
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from runtime.errors import ConfigError
from runtime.tls import KeyPair, Pem, Tls
from tests.pki import Authority, Pair, pem_key

CA = Authority()
USER = CA.issue("user")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def data(pem: bytes, origin: str = "test") -> Pem:
    return Pem(origin, data=pem)


def pair_of(pair: Pair) -> KeyPair:
    return KeyPair(data(pair.certificate), data(pair.key))


def of_files(folder: Path, clock: Clock) -> Tls:
    """Whose key pair stands in files that may be replaced."""
    certificate, key = USER.write(folder, "user")
    pair = KeyPair(Pem("c", path=certificate), Pem("k", path=key))
    return Tls(ca=data(CA.pem), key_pair=lambda: pair, clock=clock)


def test_a_given_authority_is_the_only_one_trusted() -> None:
    context = Tls(ca=data(CA.pem)).context()
    assert len(context.get_ca_certs()) == 1
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_without_an_authority_the_systems_are_trusted() -> None:
    context = Tls().context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_insecure_means_unverified() -> None:
    context = Tls(insecure=True).context()
    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname


def test_several_authorities_in_one_bundle_are_all_trusted() -> None:
    bundle = CA.pem + b"# comment \xc3\xa9\n" + Authority("other").pem
    assert len(Tls(ca=data(bundle)).context().get_ca_certs()) == 2


def test_the_context_is_kept_while_nothing_changes(tmp_path: Path) -> None:
    clock = Clock()
    ca = tmp_path / "ca.crt"
    ca.write_bytes(CA.pem)
    tls = Tls(ca=Pem("ca", path=ca), key_pair=lambda: pair_of(USER), clock=clock)
    context = tls.context()
    clock.now = 1000.0
    assert tls.context() is context
    assert not tls.check()


def test_a_replaced_file_is_noticed_within_ten_seconds(tmp_path: Path) -> None:
    clock = Clock()
    tls = of_files(tmp_path, clock)
    old = tls.context()
    CA.issue("user").write(tmp_path, "user")
    clock.now = 9.9
    assert tls.context() is old
    clock.now = 10.0
    assert tls.context() is not old


def test_the_context_that_offers_http_2_changes_with_the_other_one(tmp_path: Path) -> None:
    clock = Clock()
    tls = of_files(tmp_path, clock)
    first = tls.multiplexed()
    assert first is not tls.context()
    assert (first.verify_mode, first.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert tls.multiplexed() is first
    CA.issue("user").write(tmp_path, "user")
    clock.now = 10.0
    second = tls.multiplexed()
    assert second is not first
    assert tls.multiplexed() is second


def test_no_context_that_offers_http_2_is_made_of_half_a_certificate(tmp_path: Path) -> None:
    clock = Clock()
    tls = of_files(tmp_path, clock)
    tls.context()
    (tmp_path / "user.crt").write_bytes(b"half")
    with pytest.raises(ConfigError):
        tls.multiplexed()
    USER.write(tmp_path, "user")
    assert tls.multiplexed() is tls.multiplexed()


def test_a_plugins_new_certificate_is_taken_over_when_checked() -> None:
    held = [pair_of(USER)]
    tls = Tls(ca=data(CA.pem), key_pair=lambda: held[0])
    old = tls.context()
    held[0] = pair_of(CA.issue("user"))
    assert tls.check()
    assert tls.context() is not old


@pytest.mark.parametrize("new", [b"broken", None], ids=["half-written", "missing"])
def test_a_bad_replacement_leaves_the_old_in_force_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, new: bytes | None
) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(CA.pem)
    tls = Tls(ca=Pem("the CA", path=path))
    old = tls.context()
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new)
    assert not tls.check()
    assert tls.context() is old
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "the CA: " in record.getMessage()
    path.write_bytes(Authority("new").pem)
    assert tls.check()


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        (Tls(ca=data(b"", "f: cluster")), "f: cluster: no usable certificate authority"),
        (Tls(ca=data(b"nonsense", "f: cluster")), "f: cluster: no usable certificate authority"),
        (Tls(ca=Pem("f: cluster", path=Path("/nonexistent/ca.crt"))), "f: cluster: unable to read /nonexistent/ca.crt: No such file"),
        (Tls(key_pair=lambda: KeyPair(data(USER.certificate), data(CA.issue("x").key))), "test: the client certificate and key can't be used"),
        (Tls(key_pair=lambda: KeyPair(data(b"x"), data(b"y"))), "test: the client certificate and key can't be used"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(tls: Tls, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tls.context()


def test_an_encrypted_key_is_an_error_and_no_prompt() -> None:
    key = pem_key(ec.generate_private_key(ec.SECP256R1()), b"secret")
    with pytest.raises(ConfigError, match="encrypted with a password"):
        Tls(key_pair=lambda: KeyPair(data(USER.certificate), data(key))).context()


def test_keys_in_memory_leave_nothing_on_disk_without_memory_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Tls(key_pair=lambda: pair_of(USER)).context()
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_can_be_none_is_an_error_like_a_missing_file(tmp_path: Path) -> None:
    pem = Pem("f: certificate-authority", path=tmp_path / "a\0b")
    for look in (pem.read, pem.stamp):
        with pytest.raises(ConfigError, match=r"^f: certificate-authority: unable to read .*null"):
            look()
