"""
Kubeconfig files: read, checked and merged.

Of several files the first that says something wins, entry by entry. An entry remembers its file, since the
paths in it are relative to that file's folder, and errors name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from runtime import plainyaml
from runtime.decoding import without_nulls
from runtime.errors import ConfigError

T = TypeVar("T")

_DEEPEST = 64
"""Levels of nesting, far beyond what any kubeconfig needs."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Base of the sections: kebab-case names, unknown ones ignored."""


class Cluster(_Section, frozen=True, kw_only=True):
    """Where an API server is and how to trust it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[dict[str, Any]] = []


class AuthProvider(_Section, frozen=True, kw_only=True):
    """The old form of plugins; only `oidc` is still supported."""

    name: str = ""
    config: dict[str, Any] = {}


class User(_Section, frozen=True, kw_only=True):
    """Credentials, one or several kinds of them."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: dict[str, Any] = {}
    auth_provider: AuthProvider = AuthProvider()
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] = msgspec.field(default_factory=list, name="as-groups")
    impersonate_extra: dict[str, list[str]] = msgspec.field(default_factory=dict, name="as-user-extra")


class Context(_Section, frozen=True, kw_only=True):
    """A cluster with a user and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Section, frozen=True, kw_only=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(_Section, frozen=True, kw_only=True):
    name: str
    user: User = User()


class _NamedContext(_Section, frozen=True, kw_only=True):
    name: str
    context: Context = Context()


class _Document(_Section, frozen=True, kw_only=True):
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


class Entry(msgspec.Struct, Generic[T], frozen=True):
    """A named section and the file that it stands in."""

    name: str
    value: T
    file: Path

    def path(self, text: str) -> Path:
        """A path of this section, which is relative to its file's folder."""
        return self.file.parent / text

    def error(self, problem: str) -> ConfigError:
        """An error that names the file and the section: `~/.kube/config: user "me": problem`."""
        return ConfigError(f'{self.file}: {type(self.value).__name__.lower()} "{self.name}": {problem}')

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Around work on this section: what a library makes of odd content becomes an error that names it."""
        try:
            yield
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise self.error(f"can't be used: {error}") from error


class Kubeconfig(msgspec.Struct):
    """The merged content of the files."""

    files: tuple[Path, ...]
    current_context: str = ""
    clusters: dict[str, Entry[Cluster]] = msgspec.field(default_factory=dict)
    users: dict[str, Entry[User]] = msgspec.field(default_factory=dict)
    contexts: dict[str, Entry[Context]] = msgspec.field(default_factory=dict)

    def _add(self, document: _Document, file: Path) -> None:
        self.current_context = self.current_context or document.current_context
        for cluster in document.clusters:
            self.clusters.setdefault(cluster.name, Entry(cluster.name, cluster.cluster, file))
        for user in document.users:
            self.users.setdefault(user.name, Entry(user.name, user.user, file))
        for context in document.contexts:
            self.contexts.setdefault(context.name, Entry(context.name, context.context, file))


def read_kubeconfig(files: Iterable[Path]) -> Kubeconfig:
    """Read and merge files. Raises ConfigError naming the file, and the field where it is one's fault."""
    merged = Kubeconfig(tuple(files))
    for file in merged.files:
        merged._add(_read(file), file)  # noqa: SLF001  # its own module
    return merged


def _read(file: Path) -> _Document:
    try:
        text = file.read_bytes()
    except (OSError, ValueError) as error:
        words = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ConfigError(f"open {file}: {words.lower()}") from error
    content = _content(text, file)
    _check(content, (), file, set())
    try:
        document = msgspec.convert(without_nulls(content or {}), _Document)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        raise ConfigError(f"{file}: {path.removesuffix('`') or 'top level'}: {problem}") from error
    _check_kind(document, file)
    return document


def _check_kind(document: _Document, file: Path) -> None:
    """Refuse a file that says that it is something else; one that says nothing is taken for a kubeconfig."""
    for field, value, wanted in (("kind", document.kind, "Config"), ("apiVersion", document.api_version, "v1")):
        if value not in ("", wanted):
            raise ConfigError(f"{file}: {field}: no kubeconfig: expected {wanted}, got {value!r}")


def _content(text: bytes, file: Path) -> Any:
    """
    What the first document of a file's YAML says, the only one that counts. Raises ConfigError.

    Nearly all files are plain enough to do without the library.
    """
    try:
        return plainyaml.read(text.decode("ascii", "replace"))
    except plainyaml.NotPlain:
        return next(_documents(text, file), None)


def _documents(text: bytes, file: Path) -> Iterator[Any]:
    """The documents of a file, each read when it is asked for. Raises ConfigError."""
    import yaml  # noqa: PLC0415  # costs more than a whole command

    from runtime.yamlguard import Bounded  # noqa: PLC0415  # as above

    class Loader(Bounded, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # one of the two
        """The quicker one where there is one."""

    try:
        yield from yaml.load_all(text, Loader=Loader)  # safe
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: no valid YAML: {' '.join(str(error).split())}") from error


def _check(value: object, path: tuple[str, ...], file: Path, seen: set[int]) -> None:
    """
    Refuse what no later reader can deal with: NUL in texts, bottomless nesting.

    `seen` holds the identities of lists and maps, so that those that aliases share are read once.
    """
    problem = ""
    if isinstance(value, str):
        problem = "holds a NUL character" if "\0" in value else ""
    elif not isinstance(value, dict | list) or id(value) in seen:
        return
    elif len(path) > _DEEPEST:
        problem = f"nested more than {_DEEPEST} levels deep"
    if problem:
        raise ConfigError(f"{file}: {''.join(path).removeprefix('.') or 'top level'}: {problem}")
    if isinstance(value, str):
        return
    seen.add(id(value))
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str):
            _check(key, path, file, seen)
        _check(item, (*path, f"[{key}]" if isinstance(value, list) else f".{key}"), file, seen)


def write_auth_provider(entry: Entry[User], values: Mapping[str, str]) -> None:
    """
    Put renewed tokens into the file that a user stands in.

    Raises OSError when it can't be written, ConfigError when somebody has changed it meanwhile so that there is no
    place for them any more.
    """
    import yaml  # noqa: PLC0415  # see above

    file = entry.file.resolve()
    documents = list(_documents(file.read_bytes(), entry.file))
    config = _provider_config(documents[0] if documents else None, entry.name)
    if config is None:
        raise entry.error("auth-provider: its config is no longer there")
    config.update(values)
    fresh = file.with_name(f".{file.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
    fresh.replace(file)


def _provider_config(document: object, name: str) -> dict[str, Any] | None:
    """The config of a user's auth-provider, of the first user with that name as in reading; None without one."""
    users = document.get("users") if isinstance(document, dict) else None
    for user in users if isinstance(users, list) else ():
        if isinstance(user, dict) and user.get("name") == name:
            found: Any = user
            for key in ("user", "auth-provider", "config"):
                found = found.get(key) if isinstance(found, dict) else None
            return found if isinstance(found, dict) else None
    return None
