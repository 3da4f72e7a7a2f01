from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.credential_plugins import ExecCredentials, OidcCredentials
from runtime.credentials import TokenFile
from runtime.errors import ConfigError
from runtime.kubeconfig import ClientConfig, Overrides, load
from runtime.kubeconfig_files import Entry, User
from tests.pki import Authority

CA = Authority()
PAIR = CA.issue("me")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(
    cluster: Mapping[str, Any] | None = None, user: Mapping[str, Any] | None = None, namespace: str = ""
) -> dict[str, Any]:
    return {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "http://one:80", **(cluster or {})}}],
        "users": [{"name": "u", "user": dict(user or {})}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
    }


class World:
    """A home folder, an environment and a service account, all empty at first."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {}
        self.service_account = folder / "serviceaccount"
        monkeypatch.setattr(Path, "home", lambda: folder / "home")

    def write(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return str(path)

    def enter_pod(self, host: str = "10.96.0.1") -> None:
        self.environ |= {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
        self.write("serviceaccount/token", "sa-token\n")
        self.write("serviceaccount/ca.crt", CA.pem.decode())
        self.write("serviceaccount/namespace", "mine")

    def load(self, kubeconfig: str = "", master: str = "", **options: Any) -> ClientConfig:
        return load(kubeconfig, master, environ=self.environ, service_account=self.service_account, **options)

    def user(self, **user: Any) -> ClientConfig:
        return self.load(self.write("config", document(user=user)))

    def cluster(self, **cluster: Any) -> ClientConfig:
        return self.load(self.write("config", document(cluster={k.replace("_", "-"): v for k, v in cluster.items()})))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def serving(address: str) -> dict[str, Any]:
    return document(cluster={"server": address})


def test_the_places_are_asked_in_order(world: World) -> None:
    assert world.load().server == "http://localhost:8080"
    world.enter_pod()
    assert world.load().server == "https://10.96.0.1:443"
    world.write("home/.kube/config", serving("http://home"))
    assert world.load().server == "http://home"
    world.environ["KUBECONFIG"] = ":".join([world.write("one", serving("http://env")), "/nonexistent/config"])
    assert world.load().server == "http://env"
    assert world.load(world.write("explicit", serving("http://flag"))).server == "http://flag"
    assert world.load("", "http://master").server == "http://master"


def test_components_prefer_the_pod_to_files_that_nobody_named(world: World) -> None:
    world.write("home/.kube/config", serving("http://home"))
    assert world.load(prefer_in_cluster=True).server == "http://home"
    world.enter_pod()
    assert world.load(prefer_in_cluster=True).server == "https://10.96.0.1:443"
    assert world.load(world.write("explicit", serving("http://flag")), prefer_in_cluster=True).server == "http://flag"
    bare = world.load("", "http://master", prefer_in_cluster=True)
    assert (bare.server, bare.credentials.header()) == ("http://master", "")


def test_components_without_any_configuration_are_told_what_to_give(world: World) -> None:
    with pytest.raises(ConfigError, match="give --kubeconfig or --master, or run in a pod"):
        world.load(prefer_in_cluster=True)


def test_files_of_the_environment_that_are_missing_are_passed_over(world: World) -> None:
    world.environ["KUBECONFIG"] = "/nonexistent/a:/nonexistent/b"
    assert world.load().server == "http://localhost:8080"


def test_a_missing_explicit_file_is_told_as_the_command_line_tools_do(world: World) -> None:
    with pytest.raises(ConfigError) as caught:
        world.load("/nonexistent/config")
    assert str(caught.value) == "stat /nonexistent/config: no such file or directory"


def test_the_pods_service_account_is_followed(world: World) -> None:
    world.enter_pod()
    config = world.load()
    assert (config.namespace, config.credentials.header()) == ("mine", "Bearer sa-token")
    assert isinstance(config.credentials, TokenFile)
    assert config.tls is not None
    assert len(config.tls.context().get_ca_certs()) == 1
    world.write("serviceaccount/token", "rotated")
    config.credentials._fetch()
    assert config.credentials.header() == "Bearer rotated"


def test_a_pods_address_may_be_ipv6_and_its_namespace_unknown(world: World) -> None:
    world.enter_pod("fd00::1")
    (world.service_account / "namespace").unlink()
    config = world.load()
    assert (config.server, config.namespace) == ("https://[fd00::1]:443", "default")


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_an_incomplete_service_account_is_named(world: World, missing: str) -> None:
    world.enter_pod()
    (world.service_account / missing).unlink()
    with pytest.raises(ConfigError, match=f"service account: unable to read .*{missing}"):
        world.load()


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://x:6443/", "https://x:6443"),
        ("https://gateway/clusters/a/", "https://gateway/clusters/a"),
        ("x:8080", "http://x:8080"),
        ("http://[fd00::1]:80", "http://[fd00::1]:80"),
    ],
)
def test_the_servers_address_is_brought_into_one_form(world: World, server: str, expected: str) -> None:
    assert world.cluster(server=server).server == expected
    assert world.load("", server).server == expected


def test_an_address_without_scheme_is_https_where_tls_is_set_up(world: World) -> None:
    assert world.cluster(server="x:6443", certificate_authority_data=b64(CA.pem)).server == "https://x:6443"


@pytest.mark.parametrize("server", ["ftp://x", "https://", "http://x:port", "http://:80"])
def test_an_address_that_is_none_is_named(world: World, server: str) -> None:
    with pytest.raises(ConfigError, match=r'config: cluster "c": server: .* is no http or https URL'):
        world.cluster(server=server)
    with pytest.raises(ConfigError, match=r"^--master: .* is no http or https URL"):
        world.load("", server)


def test_plain_http_has_no_tls_and_https_has(world: World) -> None:
    assert world.cluster().tls is None
    assert world.cluster(server="https://x").tls is not None


def test_the_namespace_is_the_contexts_or_default(world: World) -> None:
    assert world.load(world.write("a", document(namespace="team"))).namespace == "team"
    assert world.load(world.write("b", document())).namespace == "default"


def test_master_replaces_the_address_and_keeps_the_rest(world: World) -> None:
    file = world.write("config", document({"tls-server-name": "api"}, {"token": "t"}, "team"))
    config = world.load(file, "https://other:1")
    assert (config.server, config.namespace, config.credentials.header()) == ("https://other:1", "team", "Bearer t")
    assert config.server_name == ""
    assert config.tls is not None


def test_master_does_without_context_or_cluster(world: World) -> None:
    assert world.load(world.write("a", "{}"), "http://m").server == "http://m"
    no_cluster = document() | {"contexts": [{"name": "here", "context": {"user": "u"}}]}
    assert world.load(world.write("b", no_cluster), "http://m").server == "http://m"


def test_verification_follows_the_cluster_section(world: World, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(CA.pem)
    by_file = world.cluster(server="https://x", certificate_authority="ca.crt", tls_server_name="api")
    assert by_file.tls is not None
    assert len(by_file.tls.context().get_ca_certs()) == 1
    assert by_file.server_name == "api"
    insecure = world.cluster(server="https://x", insecure_skip_tls_verify=True)
    assert insecure.tls is not None
    assert insecure.tls.context().verify_mode is ssl.CERT_NONE


def test_base64_may_be_folded_over_lines(world: World) -> None:
    folded = "\n".join(b64(CA.pem)[start : start + 60] for start in range(0, len(b64(CA.pem)), 60))
    config = world.cluster(server="https://x", certificate_authority_data=folded)
    assert config.tls is not None
    assert len(config.tls.context().get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"server": ""}, "server is not set"),
        ({"certificate_authority_data": "%%%"}, "certificate-authority-data: no valid base64"),
        ({"certificate_authority_data": b64(b"x")}, "certificate-authority-data: no usable certificate authority"),
        ({"certificate_authority": "none.crt"}, "certificate-authority: unable to read .*/none.crt"),
        (
            {"certificate_authority_data": b64(CA.pem), "insecure_skip_tls_verify": True},
            "certificate-authority and insecure-skip-tls-verify exclude each other",
        ),
        ({"proxy_url": "socks5://p"}, "proxy-url: 'socks5://p': only http:// proxies are supported"),
    ],
)
def test_faults_of_the_cluster_section_are_named(world: World, cluster: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f'config: cluster "c": {message}'):
        world.cluster(**cluster)


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, ""),
        ({"token": "abc"}, "Bearer abc"),
        ({"username": "me", "password": "pw"}, "Basic bWU6cHc="),
        ({"username": "me", "password": "pw", "token": "abc"}, "Bearer abc"),
    ],
)
def test_tokens_and_passwords_become_headers(world: World, user: dict[str, Any], header: str) -> None:
    assert world.user(**user).credentials.header() == header


def test_a_token_file_wins_over_a_token_and_is_relative(world: World) -> None:
    world.write("token", "from-file")
    config = world.user(token="inline", tokenFile="token")
    assert config.credentials.header() == "Bearer from-file"


def test_plugins_are_not_run_before_they_are_needed(world: World) -> None:
    spec = {"command": "no-such-plugin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    assert isinstance(world.user(exec=spec).credentials, ExecCredentials)
    config = {"id-token": "t", "idp-issuer-url": "https://idp"}
    provider = {"name": "oidc", "config": config}
    assert isinstance(world.user(**{"auth-provider": provider}).credentials, OidcCredentials)


def test_a_client_certificate_comes_as_data_or_as_files(world: World, tmp_path: Path) -> None:
    PAIR.write(tmp_path, "me")
    for user in (
        {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(PAIR.key)},
        {"client-certificate": "me.crt", "client-key": "me.key"},
        {"client-certificate": str(tmp_path / "me.crt"), "client-key-data": b64(PAIR.key)},
    ):
        config = world.load(world.write("config", document({"server": "https://x"}, user)))
        assert config.tls is not None
        assert config.tls.context() is config.tls.context()


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"client-certificate-data": b64(PAIR.certificate)}, "client-certificate and client-key go together"),
        ({"client-key": "x.key"}, "client-certificate and client-key go together"),
        (
            {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(CA.issue("x").key)},
            "client-certificate-data: the client certificate and key can't be used",
        ),
        ({"client-certificate-data": "%", "client-key-data": "%"}, "client-certificate-data: no valid base64"),
        ({"tokenFile": "none"}, "tokenFile: unable to read .*/none"),
        ({"exec": {"apiVersion": "v1"}}, "exec: command is not set"),
        ({"exec": {"command": "x"}}, "exec: apiVersion is not set"),
        ({"auth-provider": {"name": "gcp"}}, 'auth-provider "gcp" is no longer supported'),
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "t"}}}, "auth-provider: idp-issuer-url is not set"),
    ],
)
def test_faults_of_the_user_section_are_named(world: World, user: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f'config: user "u": {message}'):
        world.user(**user)


DEEP = "current-context: here\nx: " + "[" * 80 + "]" * 80
LOOP = "users: [{name: u, user: {exec: &a {command: x, env: [*a]}}}]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LOOP, r"config: no valid YAML: users\[0\].user.exec.env\[0\]: an alias leads back"),
        (DEEP, r"config: x\[0\].*: nested more than 64 levels deep"),
        ("a: 2001-99-99", "config: no valid YAML: month must be in"),
        ('users: [{name: u, user: {token: "a\\0b"}}]', r"config: users\[0\].user.token: holds a NUL character"),
        ('{"a\\0": 1}', "config: top level: holds a NUL character"),
    ],
)
def test_content_that_no_reader_can_deal_with_is_named(world: World, content: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        world.load(world.write("config", content))


def test_an_alias_may_be_used_many_times(world: World) -> None:
    content = document()
    section = content["clusters"][0]["cluster"]
    content["clusters"] += [{"name": f"c{number}", "cluster": section} for number in range(100)]
    assert "*id001" in yaml.safe_dump(content)
    assert world.load(world.write("config", content)).server == "http://one:80"


PLUGIN = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1"}
V1 = "client.authentication.k8s.io/v1"
MODES = ("Never", "IfAvailable", "Always")


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("cluster", {"server": "http://[::1"}, r"server: 'http://\[::1' is no http or https URL"),
        ("cluster", {"server": "http://x:99999"}, "server: 'http://x:99999' is no"),
        ("cluster", {"server": "https://a..b"}, "server: 'https://a..b' is no"),
        ("cluster", {"server": "http://x/\n"}, "server: .* is no http or https URL"),
        ("cluster", {"server": "ftp://me:sekret@x"}, r"server: 'ftp://\*\*\*@x' is no"),
        ("cluster", {"proxy-url": "http://[::1"}, r"proxy-url: 'http://\[::1' is no http URL"),
        ("cluster", {"proxy-url": "http://p:99999"}, "proxy-url: 'http://p:99999' is no http URL"),
        ("cluster", {"proxy-url": "socks5://me:sekret@p"}, r"proxy-url: 'socks5://\*\*\*@p': only http://"),
        ("cluster", {"tls-server-name": "a..b\u2603"}, "tls-server-name: 'a..b\u2603' is no host name"),
        ("cluster", {"certificate-authority-data": "\u2603"}, "certificate-authority-data: no valid base64"),
        (
            "user",
            {"client-key-data": "\u2603", "client-certificate-data": "\u2603"},
            "client-certificate-data: no valid",
        ),
        ("user", {"token": "a\nb"}, "token: holds a line end"),
        ("user", {"token": "\u2603"}, "token: holds characters beyond Latin-1"),
        ("user", {"as": "a\x07"}, "as: holds a line end or another control"),
        ("user", {"as": "\u2603"}, "as: holds characters beyond"),
        ("user", {"as": "a", "as-uid": "\n"}, "as-uid: holds a line end"),
        ("user", {"as": "a", "as-groups": ["g", "h\r"]}, "as-groups: holds a line end"),
        ("user", {"as": "a", "as-user-extra": {"k": ["\u2603"]}}, "as-user-extra.k: holds characters beyond"),
        ("user", {"exec": {**PLUGIN, "args": "x"}}, "exec.args: Expected `array`, got `str`"),
        ("user", {"exec": {**PLUGIN, "args": [1]}}, r"exec.args\[0\]: Expected `str`, got `int`"),
        ("user", {"exec": {**PLUGIN, "args": 5}}, "exec.args: Expected `array`, got `int`"),
        ("user", {"exec": {**PLUGIN, "env": {"A": "b"}}}, "exec.env: Expected `array`, got `object`"),
        ("user", {"exec": {**PLUGIN, "env": [{"value": "b"}]}}, r"exec.env\[0\]: Object missing .* `name`"),
        ("user", {"exec": {**PLUGIN, "env": [{"name": "A=B", "value": "b"}]}}, "exec.env: 'A=B' is no name"),
        (
            "user",
            {"exec": {**PLUGIN, "interactiveMode": "Soon"}},
            "exec: invalid interactiveMode 'Soon', there are: Nev",
        ),
        (
            "user",
            {"exec": {**PLUGIN, "apiVersion": V1}},
            f"exec: interactiveMode is not set, {V1} asks for one of: Never",
        ),
        ("user", {"exec": {**PLUGIN, "command": 5}}, "exec.command: Expected `str`, got `int`"),
        ("user", {"exec": {**PLUGIN, "apiVersion": 5}}, "exec.apiVersion: Expected `str`, got `int`"),
        (
            "user",
            {"auth-provider": {"name": "oidc", "config": {"id-token": 5, "idp-issuer-url": "x"}}},
            "auth-provider: id-token: expected a text, got int",
        ),
    ],
)
def test_values_that_would_break_a_request_are_refused_while_loading(
    world: World, section: str, values: dict[str, Any], message: str
) -> None:
    name = {"cluster": "c", "user": "u"}[section]
    sections: dict[str, Any] = {"cluster": {"server": "https://one"}, section: values}
    content = document(**sections)
    with pytest.raises(ConfigError, match=f'config: {section} "{name}": {message}') as caught:
        world.load(world.write("config", content))
    assert "sekret" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [{}, {"interactiveMode": "IfAvailable"}, *({"apiVersion": V1, "interactiveMode": mode} for mode in MODES)],
)
def test_only_the_older_version_of_plugins_may_leave_the_interactive_mode_out(
    world: World, said: dict[str, str]
) -> None:
    assert isinstance(world.user(exec={**PLUGIN, **said}).credentials, ExecCredentials)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(token="a\nb"), "^--token: holds a line end"),
        (Overrides(impersonate="\u2603"), "^--as: holds characters beyond"),
        (Overrides(impersonate="a", impersonate_groups=("b\n",)), "^--as-group: holds a line end"),
    ],
)
def test_flags_that_would_break_a_request_are_refused(world: World, overrides: Overrides, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        world.load(world.write("config", document()), overrides=overrides)


def test_a_pods_environment_may_be_wrong(world: World) -> None:
    world.enter_pod("a..b")
    with pytest.raises(
        ConfigError, match=r"^KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: 'https://a\.\.b:443' is no"
    ):
        world.load()


@pytest.mark.parametrize("error", [ValueError, TypeError, AttributeError, RecursionError])
def test_what_a_library_makes_of_odd_content_names_the_section(error: type[Exception]) -> None:
    section = Entry("me", User(), Path("f"))
    with pytest.raises(ConfigError, match=r'^f: user "me": can\'t be used: boom'), section.checked():
        raise error("boom")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": ""}, "config: current-context is not set, there are: here"),
        ({"current-context": "gone"}, 'config: context "gone" does not exist, there are: here'),
        ({"contexts": []}, 'config: context "here" does not exist, there are: none'),
        ({"clusters": []}, 'config: context "here": cluster "c" does not exist, there are: none'),
        ({"users": []}, 'config: context "here": user "u" does not exist, there are: none'),
    ],
)
def test_references_that_lead_nowhere_are_named(world: World, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        world.load(world.write("config", document() | change))


def test_flags_choose_another_context_cluster_or_user(world: World) -> None:
    content = document()
    content["clusters"].append({"name": "d", "cluster": {"server": "http://two"}})
    content["users"].append({"name": "v", "user": {"token": "v"}})
    content["contexts"].append({"name": "there", "context": {"cluster": "d", "user": "v", "namespace": "far"}})
    file = world.write("config", content)

    def chosen(**overrides: Any) -> tuple[str, str, str]:
        config = world.load(file, overrides=Overrides(**overrides))
        return config.server, config.credentials.header(), config.namespace

    assert chosen(context="there") == ("http://two", "Bearer v", "far")
    assert chosen(cluster="d") == ("http://two", "", "default")
    assert chosen(user="v") == ("http://one:80", "Bearer v", "default")
    assert chosen(token="mine") == ("http://one:80", "Bearer mine", "default")


def test_flags_may_switch_verification_off(world: World) -> None:
    file = world.write("config", document({"server": "https://x", "certificate-authority-data": b64(CA.pem)}))
    tls = world.load(file, overrides=Overrides(insecure=True)).tls
    assert tls is not None
    assert tls.context().verify_mode is ssl.CERT_NONE


def test_impersonation_comes_from_the_file_or_whole_from_flags(world: World) -> None:
    user = {"as": "a", "as-uid": "1", "as-groups": ["g", "h"], "as-user-extra": {"sc/opes": ["x", "y"]}}
    file = world.write("config", document(user=user))
    assert world.load(file).headers == (
        ("Impersonate-User", "a"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Group", "h"),
        ("Impersonate-Extra-sc%2Fopes", "x"),
        ("Impersonate-Extra-sc%2Fopes", "y"),
    )
    flags = Overrides(impersonate="b", impersonate_groups=("k",))
    assert world.load(file, overrides=flags).headers == (("Impersonate-User", "b"), ("Impersonate-Group", "k"))


def test_the_proxy_is_the_clusters_or_the_environments(world: World) -> None:
    world.environ["HTTP_PROXY"] = "http://env:1"
    assert world.cluster().proxy == "http://env:1"
    assert world.cluster(proxy_url="http://file:1").proxy == "http://file:1"


def test_the_source_is_told_for_logs(world: World) -> None:
    file = world.write("config", document())
    assert world.load(file).source == file
    assert world.load().source == "defaults"
    world.enter_pod()
    assert world.load().source == "service account"
