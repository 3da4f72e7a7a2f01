"""The API client that flags and kubeconfig give."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import find
from cli.connection import connect
from cli.errors import CommandError
from cli.flags import Flags, parse
from cli.tree import root_of
from runtime.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """\
current-context: one
contexts:
- name: one
  context: {cluster: a, user: u, namespace: mine}
- name: two
  context: {cluster: b, user: u}
clusters:
- name: a
  cluster: {server: "http://a:1"}
- name: b
  cluster: {server: "http://b:2"}
users:
- name: u
  user: {token: old}
- name: v
  user: {token: other}
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "config"
    file.write_text(CONFIG)
    return {"KUBECONFIG": str(file)}


def flags(*words: str) -> Flags:
    command, rest = find(root_of("vcctl"), ["job", "list", *words])
    return parse(command.flags(), rest)


@pytest.mark.parametrize(
    ("words", "server", "namespace", "header"),
    [
        ((), "http://a:1", "mine", "Bearer old"),
        (("--context", "two"), "http://b:2", "default", "Bearer old"),
        (("--cluster", "b"), "http://b:2", "mine", "Bearer old"),
        (("--user", "v"), "http://a:1", "mine", "Bearer other"),
        (("--token", "new"), "http://a:1", "mine", "Bearer new"),
        (("-s", "http://c:3"), "http://c:3", "mine", "Bearer old"),
    ],
)
def test_flags_override_the_kubeconfig(
    environ: dict[str, str], words: tuple[str, ...], server: str, namespace: str, header: str
) -> None:
    config = connect(flags(*words), environ).transport.config
    assert (config.server, config.namespace, config.credentials.header()) == (server, namespace, header)


def test_another_identity_is_sent_along(environ: dict[str, str]) -> None:
    config = connect(flags("--as", "me", "--as-group", "g1", "--as-group", "g2"), environ).transport.config
    assert config.headers == (("Impersonate-User", "me"), ("Impersonate-Group", "g1"), ("Impersonate-Group", "g2"))


def test_what_is_not_there_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match='context "three" does not exist, there are: one, two'):
        connect(flags("--context", "three"), environ)
    with pytest.raises(CommandError, match="is negative"):
        connect(flags("--request-timeout=-5s"), environ)


def test_warnings_of_the_server_are_plain_lines_on_stderr(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    connect(flags(), environ)
    logging.getLogger("runtime.serverwarnings").warning(
        'msg="x" request="%s %s" warning="%s"', "POST", "/p", "old version"
    )
    assert capsys.readouterr().err == "Warning: old version\n"


def test_the_client_works_without_typing_extensions_and_leaves_it_importable() -> None:
    script = "import cli.connection, sys; print('typing_extensions' in sys.modules); import typing_extensions"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
