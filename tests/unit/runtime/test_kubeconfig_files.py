from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.errors import ConfigError
from runtime.kubeconfig_files import Cluster, Entry, User, read_kubeconfig, write_auth_provider


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


FULL = """
apiVersion: v1
kind: Config
preferences: {}
current-context: here
clusters:
- name: c
  cluster:
    server: https://x:6443
    certificate-authority: ca.crt
    insecure-skip-tls-verify: false
    tls-server-name: api
    proxy-url: http://p
    extensions: [{name: e, extension: {a: 1}}]
users:
- name: u
  user:
    client-certificate: c.crt
    client-key-data: a2V5
    tokenFile: t
    exec: {command: x, apiVersion: v1}
    auth-provider: {name: oidc, config: {id-token: t}}
    as: other
    as-uid: "7"
    as-groups: [g]
    as-user-extra: {k: [v]}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: n}
"""


def test_a_file_is_read_into_its_sections(tmp_path: Path) -> None:
    file = write(tmp_path / "config", FULL)
    found = read_kubeconfig([file])
    assert found.current_context == "here"
    cluster, user, context = found.clusters["c"].value, found.users["u"].value, found.contexts["here"].value
    assert (cluster.server, cluster.tls_server_name, cluster.proxy_url) == ("https://x:6443", "api", "http://p")
    assert (user.client_certificate, user.client_key_data, user.token_file) == ("c.crt", "a2V5", "t")
    assert user.exec == {"command": "x", "apiVersion": "v1"}
    assert (user.auth_provider.name, user.auth_provider.config) == ("oidc", {"id-token": "t"})
    assert (user.impersonate, user.impersonate_uid, user.impersonate_groups) == ("other", "7", ["g"])
    assert user.impersonate_extra == {"k": ["v"]}
    assert (context.cluster, context.user, context.namespace) == ("c", "u", "n")


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    entry = read_kubeconfig([write(tmp_path / "a" / "config", FULL)]).clusters["c"]
    assert entry.path("ca.crt") == tmp_path / "a" / "ca.crt"
    assert entry.path("/etc/ca.crt") == Path("/etc/ca.crt")


def test_of_several_files_the_first_word_counts_entry_by_entry(tmp_path: Path) -> None:
    first = write(tmp_path / "1", {"clusters": [{"name": "c", "cluster": {"server": "https://one"}}]})
    second = write(
        tmp_path / "2",
        {
            "current-context": "second",
            "clusters": [
                {"name": "c", "cluster": {"server": "https://two", "tls-server-name": "two"}},
                {"name": "d", "cluster": {"server": "https://d"}},
            ],
        },
    )
    third = write(tmp_path / "3", {"current-context": "third"})
    merged = read_kubeconfig([first, second, third])
    assert merged.current_context == "second"
    assert merged.clusters["c"].value == Cluster(server="https://one")
    assert (merged.clusters["c"].file, merged.clusters["d"].file) == (first, second)


@pytest.mark.parametrize("content", ["", "{}", "clusters:\nusers: null\ncurrent-context:\n", "# nothing\n"])
def test_an_empty_file_says_nothing(tmp_path: Path, content: str) -> None:
    merged = read_kubeconfig([write(tmp_path / "config", content)])
    assert (merged.current_context, merged.clusters, merged.contexts) == ("", {}, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("clusters: [", "no valid YAML: "),
        ("\x00", "no valid YAML: "),
        ("clusters: {}", "clusters: Expected `array`, got `object`"),
        ("clusters: [{cluster: {}}]", r"clusters\[0\]: Object missing required field `name`"),
        ("clusters: [{name: c, cluster: {server: 5}}]", r"clusters\[0\]\.cluster\.server: Expected `str`, got `int`"),
        ("users: [{name: u, user: {as-groups: g}}]", r"users\[0\]\.user\.as-groups: Expected `array`, got `str`"),
        ("just text", "top level: Expected `object`, got `str`"),
        ("- a\n- b", "top level: Expected `object`, got `array`"),
    ],
)
def test_errors_name_the_file_and_the_field(tmp_path: Path, content: str, message: str) -> None:
    file = write(tmp_path / "config", content)
    with pytest.raises(ConfigError, match=f"^{file}: {message}"):
        read_kubeconfig([file])


@pytest.mark.parametrize(
    ("kind", "version", "problem"),
    [
        ("Pod", "v3", "kind: no kubeconfig: expected Config, got 'Pod'"),
        ("config", "v1", "kind: no kubeconfig: expected Config, got 'config'"),
        ("Config", "v2", "apiVersion: no kubeconfig: expected v1, got 'v2'"),
        ("", "apps/v1", "apiVersion: no kubeconfig: expected v1, got 'apps/v1'"),
    ],
)
def test_a_file_of_another_kind_is_no_kubeconfig(tmp_path: Path, kind: str, version: str, problem: str) -> None:
    file = write(tmp_path / "config", {"kind": kind, "apiVersion": version, "current-context": "here"})
    with pytest.raises(ConfigError, match=f"^{file}: {problem}$"):
        read_kubeconfig([file])


@pytest.mark.parametrize("said", [{}, {"kind": "Config"}, {"apiVersion": "v1"}, {"kind": None, "apiVersion": None}])
def test_a_kubeconfig_need_not_say_that_it_is_one(tmp_path: Path, said: dict[str, Any]) -> None:
    assert read_kubeconfig([write(tmp_path / "config", {**said, "current-context": "x"})]).current_context == "x"


@pytest.mark.parametrize("more", ["current-context: second\n", "kind: Pod\n", "users: [\n", ""])
def test_of_several_documents_the_first_counts(tmp_path: Path, more: str) -> None:
    file = write(tmp_path / "config", f"{FULL}---\n{more}")
    assert read_kubeconfig([file]).current_context == "here"


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^open {tmp_path}: is a directory"):
        read_kubeconfig([tmp_path])


def test_an_entrys_error_names_file_kind_and_name(tmp_path: Path) -> None:
    entry = read_kubeconfig([write(tmp_path / "config", FULL)]).users["u"]
    assert str(entry.error("token: bad")) == f'{tmp_path / "config"}: user "u": token: bad'


def test_renewed_tokens_replace_the_old_and_nothing_else(tmp_path: Path) -> None:
    file = write(tmp_path / "config", FULL)
    link = tmp_path / "link"
    link.symlink_to(file)
    entry: Entry[User] = read_kubeconfig([link]).users["u"]
    write_auth_provider(entry, {"id-token": "new", "refresh-token": "r"})
    expected = yaml.safe_load(FULL)
    expected["users"][0]["user"]["auth-provider"]["config"] = {"id-token": "new", "refresh-token": "r"}
    assert yaml.safe_load(file.read_text()) == expected
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config", "link"]


def test_renewed_tokens_leave_other_documents_and_namesakes_alone(tmp_path: Path) -> None:
    config = yaml.safe_load(FULL)
    config["users"] += [{"name": "u"}, {"user": {}}]
    del config["kind"]
    entry = read_kubeconfig([write(tmp_path / "first", FULL)]).users["u"]
    file = write(tmp_path / "first", yaml.safe_dump_all([config, {"second": True}]))
    write_auth_provider(entry, {"id-token": "new"})
    config["users"][0]["user"]["auth-provider"]["config"] = {"id-token": "new"}
    assert list(yaml.safe_load_all(file.read_text())) == [config, {"second": True}]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "users:",
        "users: 5",
        "users: [null, 5, {user: {}}]",
        "users: [{name: u}]",
        "users: [{name: u, user: null}]",
        "users: [{name: u, user: {auth-provider: [oidc]}}]",
        "users: [{name: u, user: {auth-provider: {config: null}}}]",
        "users: [",
    ],
)
def test_renewed_tokens_without_a_place_leave_the_file_as_it_is(tmp_path: Path, content: str) -> None:
    file = write(tmp_path / "config", FULL)
    entry = read_kubeconfig([file]).users["u"]
    write(file, content)
    with pytest.raises(ConfigError, match=f"^{file}: "):
        write_auth_provider(entry, {"id-token": "new"})
    assert file.read_text() == content
