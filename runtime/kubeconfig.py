"""
Where the API server is and who we are: flags, kubeconfig files, or the pod's service account.

`load` follows the order of the command line tools; components, whose empty `--kubeconfig` means the cluster
that they run in, ask for that order with `prefer_in_cluster`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from runtime.credentials import Credentials, FixedCredentials, TokenFile, header_problem
from runtime.errors import ConfigError
from runtime.kubeconfig_files import Cluster, Context, Entry, Kubeconfig, User, read_kubeconfig
from runtime.kubeconfig_users import credentials_of, impersonation, key_pair_of, pem_of
from runtime.proxies import proxy_for, proxy_problem
from runtime.tls import Pem, Tls
from runtime.urls import is_host_name, shown, usable_url

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LAST_RESORT = "http://localhost:8080"
_NO_CLUSTER = Entry("", Cluster(), Path())


class ClientConfig(msgspec.Struct, frozen=True):
    """Everything needed to reach an API server."""

    server: str
    """`https://host:port`, with the path that a gateway may ask for, without a slash at the end."""
    namespace: str = "default"
    """Namespace of the context or the pod."""
    tls: Tls | None = None
    """None for plain HTTP."""
    credentials: Credentials = msgspec.field(default_factory=Credentials)
    server_name: str = ""
    """Name that the server's certificate is checked for, when it isn't that of the address."""
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with each request: impersonation."""
    source: str = ""
    """Where this configuration comes from, for logs."""


class Overrides(msgspec.Struct, frozen=True):
    """What flags set in place of the kubeconfig's words; empty means: as the file says."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    token: str = ""
    impersonate: str = ""
    impersonate_groups: tuple[str, ...] = ()
    insecure: bool = False
    """Trust any server certificate."""


_AS_WRITTEN = Overrides()


def load(
    kubeconfig: str = "",
    master: str = "",
    *,
    overrides: Overrides = _AS_WRITTEN,
    prefer_in_cluster: bool = False,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClientConfig:
    """
    Find the configuration: the `kubeconfig` file, `$KUBECONFIG`, `~/.kube/config`, the pod's service account.

    Without any, `http://localhost:8080`. `master` replaces the server's address in all of them. With
    `prefer_in_cluster`, `master` alone means an address without credentials, the service account comes before
    the files that nobody named, and finding nothing is an error. Raises ConfigError.
    """
    if kubeconfig:
        if not Path(kubeconfig).exists():
            raise ConfigError(f"stat {kubeconfig}: no such file or directory")
        return _from_files(read_kubeconfig([Path(kubeconfig)]), master, overrides, environ)
    inside = "KUBERNETES_SERVICE_HOST" in environ and "KUBERNETES_SERVICE_PORT" in environ and not master
    if prefer_in_cluster and inside:
        return in_cluster(environ, service_account)
    if not (prefer_in_cluster and master):
        merged = read_kubeconfig(_default_files(environ))
        if merged.current_context or merged.contexts:
            return _from_files(merged, master, overrides, environ)
    if inside:
        return in_cluster(environ, service_account)
    if prefer_in_cluster and not master:
        raise ConfigError("no API server: give --kubeconfig or --master, or run in a pod with a service account")
    last_resort = Entry("", Cluster(server=_LAST_RESORT), Path())
    return _assemble(last_resort, None, "", master=master, overrides=overrides, environ=environ, source="defaults")


def in_cluster(environ: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The configuration of a pod: its service account's token (followed as it rotates), CA and namespace."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if usable_url(server) is None:
        raise ConfigError(f"KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: {shown(server)!r} is no https URL")
    token = TokenFile(service_account / "token", "service account")
    token.refresh()
    tls = Tls(ca=Pem("service account", path=service_account / "ca.crt"))
    tls.context()
    try:
        namespace = (service_account / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        namespace = ""
    return ClientConfig(
        server=server,
        namespace=namespace or "default",
        tls=tls,
        credentials=token,
        proxy=proxy_for(server, environ),
        source="service account",
    )


def _default_files(environ: Mapping[str, str]) -> list[Path]:
    """The existing files of `$KUBECONFIG`, or of the home folder when that is not set."""
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [file for file in listed or [Path.home() / ".kube" / "config"] if file.exists()]


def _from_files(merged: Kubeconfig, master: str, overrides: Overrides, environ: Mapping[str, str]) -> ClientConfig:
    context = _context(merged, overrides, needed=not master)
    cluster = _cluster(merged, overrides.cluster or context.value.cluster, context, needed=not master)
    user = _user(merged, overrides.user or context.value.user, context)
    source = os.pathsep.join(str(file) for file in merged.files)
    return _assemble(
        cluster, user, context.value.namespace, master=master, overrides=overrides, environ=environ, source=source
    )


def _context(merged: Kubeconfig, overrides: Overrides, *, needed: bool) -> Entry[Context]:
    name = overrides.context or merged.current_context
    if name in merged.contexts:
        return merged.contexts[name]
    files = os.pathsep.join(str(file) for file in merged.files)
    if name:
        raise ConfigError(f'{files}: context "{name}" does not exist, there are: {_names(merged.contexts)}')
    if needed and not overrides.cluster:
        raise ConfigError(f"{files}: current-context is not set, there are: {_names(merged.contexts)}")
    return Entry("", Context(), Path())


def _cluster(merged: Kubeconfig, name: str, context: Entry[Context], *, needed: bool) -> Entry[Cluster]:
    if name in merged.clusters:
        return merged.clusters[name]
    if name or needed:
        raise context.error(f'cluster "{name}" does not exist, there are: {_names(merged.clusters)}')
    return _NO_CLUSTER


def _user(merged: Kubeconfig, name: str, context: Entry[Context]) -> Entry[User] | None:
    if name and name not in merged.users:
        raise context.error(f'user "{name}" does not exist, there are: {_names(merged.users)}')
    return merged.users.get(name)


def _names(entries: Mapping[str, object]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _assemble(
    cluster: Entry[Cluster],
    user: Entry[User] | None,
    namespace: str,
    *,
    master: str,
    overrides: Overrides,
    environ: Mapping[str, str],
    source: str,
) -> ClientConfig:
    if problem := header_problem(overrides.token):
        raise ConfigError(f"--token: {problem}")
    credentials = FixedCredentials.bearer(overrides.token) if overrides.token else credentials_of(user, cluster)
    with cluster.checked():
        tls = _tls(cluster, user, credentials, insecure=overrides.insecure)
        server = _address(cluster, master, secure=tls is not None)
        proxy = _proxy(cluster, server, environ)
    return ClientConfig(
        server=server,
        namespace=namespace or "default",
        tls=(tls or Tls()) if server.startswith("https:") else None,
        credentials=credentials,
        server_name="" if master else cluster.value.tls_server_name,
        proxy=proxy,
        headers=impersonation(user, overrides.impersonate, overrides.impersonate_groups),
        source=source,
    )


def _tls(cluster: Entry[Cluster], user: Entry[User] | None, credentials: Credentials, *, insecure: bool) -> Tls | None:
    """The TLS settings, None when the kubeconfig has none. Files are read now, so that errors come early."""
    wanted = cluster.value
    if wanted.tls_server_name and not is_host_name(wanted.tls_server_name):
        raise cluster.error(f"tls-server-name: {wanted.tls_server_name!r} is no host name")
    ca = pem_of(cluster, "certificate-authority", wanted.certificate_authority, wanted.certificate_authority_data)
    pair = key_pair_of(user)
    if wanted.insecure_skip_tls_verify and ca is not None and not insecure:
        raise cluster.error("certificate-authority and insecure-skip-tls-verify exclude each other")
    insecure = insecure or wanted.insecure_skip_tls_verify
    if ca is None and pair is None and not insecure and not wanted.server.startswith("https:"):
        return None
    tls = Tls(ca=ca, insecure=insecure, key_pair=lambda: credentials.key_pair() or pair)
    tls.context()
    return tls


def _address(cluster: Entry[Cluster], master: str, *, secure: bool) -> str:
    """The server's URL; one without a scheme is https where TLS is set up and http elsewhere."""
    text = master or cluster.value.server
    if not text:
        raise cluster.error("server is not set")
    url = text if "://" in text else f"{'https' if secure else 'http'}://{text}"
    parts = usable_url(url)
    if parts is None or parts.scheme not in ("http", "https"):
        problem = f"{shown(text)!r} is no http or https URL"
        raise ConfigError(f"--master: {problem}") if master else cluster.error(f"server: {problem}")
    return url.rstrip("/")


def _proxy(cluster: Entry[Cluster], server: str, environ: Mapping[str, str]) -> str:
    proxy = cluster.value.proxy_url
    if proxy and (problem := proxy_problem(proxy)):
        raise cluster.error(f"proxy-url: {problem}")
    return proxy or proxy_for(server, environ)
