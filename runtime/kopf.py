"""
kopf as a front end: operators in kopf's style whose handlers receive our typed models.

kopf finds a kind by words and hands out dictionaries; here a handler is registered by the `Resource` of its kind
and gets `obj`, `old` and `new` as frozen models beside all that kopf passes. Login, client and logging are ours.
The components don't use this module; `docs/kopf.md` tells what kopf can't do for them.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
import sys
import weakref
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import msgspec

from runtime import log
from runtime.authsession import CredentialsRefused, SessionFactory
from runtime.client import Client
from runtime.errors import ConfigError, DecodeError
from runtime.flags import FlagParser
from runtime.flagtypes import STRING
from runtime.kubeconfig import ClientConfig, load
from runtime.model import Builder
from runtime.options import add_log_flags, log_options
from runtime.reading import read_object
from runtime.resource import Resource
from runtime.transport import Transport
from runtime.urls import shown

try:
    import kopf
except ModuleNotFoundError as error:
    if error.name != "kopf":
        raise
    raise ImportError("runtime.kopf needs kopf, which is not installed: pip install '.[kopf]'") from error

logger = logging.getLogger(__name__)

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_RETRIES = frozenset({"errors", "timeout", "retries", "backoff"})
_REFUSED_PAUSE = 10.0
"""Seconds until credentials that the server refused are tried again."""
_REMEMBERED: Final = 1000
"""Unreadable objects that a filter remembers to have reported."""

_names: weakref.WeakKeyDictionary[kopf.OperatorRegistry, str] = weakref.WeakKeyDictionary()
"""The operator of each registry."""


class Decorator(Protocol):
    """Registers a handler and gives it back as it was."""

    def __call__(self, function: Function, /) -> Function: ...


def typed(resource: Resource[T], body: Mapping[str, Any]) -> T:
    """
    The model of a kopf body; daemons call it to see the object as it is now.

    Raises kopf.PermanentError, which names object and field and is not retried: only a change of the object helps,
    and that calls the handler again.
    """
    try:
        return read_object(resource, msgspec.json.encode(dict(body)))
    except DecodeError as error:
        raise kopf.PermanentError(f"{error}; the object is left alone until it changes") from error


class Operator:
    """
    One operator: the handlers registered by its decorators, its login, its client.

    Options of the decorators that are not named here go to kopf (`labels`, `when`, `retries`, `interval` ...).
    Handlers may leave out `**kwargs`: they are passed the arguments that they name. They return None or an apply
    builder of their kind (`generated.apply`), which becomes part of the merge patch.
    """

    def __init__(
        self, name: str, *, kubeconfig: str = "", master: str = "", registry: kopf.OperatorRegistry | None = None
    ) -> None:
        """
        `name` is a DNS name of yours, such as `labels.example.com`: the prefix of annotations, finalizer and events.

        Two operators on the same objects need different ones. `registry` None is the one that `kopf run` uses.
        Raises ValueError for another kind of name, and when the registry belongs to an operator of another name.
        """
        if len(name) > 63 or not _NAME.fullmatch(name):
            raise ValueError(f"operator name {name!r} is no DNS name of at most 63 characters, such as x.example.com")
        self.name = name
        self.kubeconfig = kubeconfig
        self.master = master
        self._registry = registry if registry is not None else kopf.get_default_registry()
        other = _names.setdefault(self._registry, name)
        if other != name:  # kopf has one finalizer and one annotation prefix a process
            raise ValueError(f"operator {name}: this registry belongs to operator {other}; use one or a process each")
        self._config: ClientConfig | None = None
        self._client: Client | None = None
        self._transport: Transport | None = None
        self._sessions: SessionFactory | None = None
        self._adapted: dict[tuple[Any, ...], Callable[..., Any]] = {}
        kopf.on.startup(id="stromboli-start", registry=self._registry)(self._start)
        kopf.on.login(id="stromboli-login", registry=self._registry)(self._login)
        kopf.on.cleanup(id="stromboli-stop", registry=self._registry)(self._stop)

    @property
    def config(self) -> ClientConfig:
        """Where the API server is, for `SyncClient(...)` in handlers that are no coroutines."""
        if self._config is None:
            raise RuntimeError(f"operator {self.name} is not running")
        return self._config

    @property
    def client(self) -> Client:
        """The typed client, for handlers that are coroutines. RuntimeError outside of a running operator."""
        if self._client is None:
            raise RuntimeError(f"operator {self.name} is not running")
        return self._client

    def create(self, resource: Resource[Any], **options: Any) -> Decorator:
        """Once for each object that has no annotation of this operator yet. Annotates the object."""
        return self._register(kopf.on.create, resource, options)

    def update(self, resource: Resource[Any], **options: Any) -> Decorator:
        """
        When labels, annotations or anything but status differs from what was handled last. Annotates the object.

        `old` lacks status and most of metadata, which kopf doesn't keep; None when it can't be read any more.
        """
        return self._register(kopf.on.update, resource, options)

    def resume(self, resource: Resource[Any], **options: Any) -> Decorator:
        """Once after a start for each object that was handled before. Annotates the object."""
        return self._register(kopf.on.resume, resource, options)

    def field(self, resource: Resource[Any], field: str | Sequence[str], **options: Any) -> Decorator:
        """When a field changes (`spec.weight`, names as in JSON); `old` and `new` are its values. Annotates."""
        return self._register(kopf.on.field, resource, {**options, "field": field})

    def event(self, resource: Resource[Any], **options: Any) -> Decorator:
        """Each event of the watch, `type` None for those of the first list. No retries; leaves no trace."""
        return self._register(kopf.on.event, resource, options)

    def delete(self, resource: Resource[Any], *, finalizer: bool = False, **options: Any) -> Decorator:
        """
        After the object is gone, if the operator saw it go: no retries, and no trace on the object.

        With `finalizer` before it goes, retried until it succeeds; the object stays for as long, and for ever
        when the operator was taken away.
        """
        if finalizer:
            return self._register(kopf.on.delete, resource, {**options, "optional": False})
        if unfit := sorted(_RETRIES & options.keys()):
            raise TypeError(f"delete: {', '.join(unfit)} needs finalizer=True: what is gone is not handled again")
        when = options.pop("when", None)
        options["when"] = kopf.all_([_is_gone, when]) if when else _is_gone
        return self._register(kopf.on.event, resource, options)

    def timer(self, resource: Resource[Any], *, finalizer: Literal[True], **options: Any) -> Decorator:
        """
        Every `interval` seconds for each object. kopf sets a finalizer, so `finalizer=True` must be said.

        It rests while the object can't be read.
        """
        _agree("timer", finalizer)
        return self._register(kopf.timer, resource, _while_readable(resource, options))

    def daemon(self, resource: Resource[Any], *, finalizer: Literal[True], **options: Any) -> Decorator:
        """
        One run for the life of each object, until `stopped`. kopf sets a finalizer, as with `timer`.

        It is stopped when the object can't be read any more, and runs anew once it can.
        """
        _agree("daemon", finalizer)
        return self._register(kopf.daemon, resource, _while_readable(resource, options))

    def main(self, words: Sequence[str] | None = None) -> int:
        """
        Run until SIGTERM or SIGINT and give the exit code; `kopf run` does without this.

        The flags are `--kubeconfig`, `--master`, `--namespace` and those of klog.
        """
        parser = FlagParser(self.name)
        parser.flag("master", STRING, self.master, "The address of the API server (overrides that of the kubeconfig)")
        parser.flag("kubeconfig", STRING, self.kubeconfig, "Path to kubeconfig file")
        parser.flag("namespace", STRING, "", "Work in this namespace only", short="n")
        add_log_flags(parser)
        flags = parser.parse(sys.argv[1:] if words is None else words)
        self.kubeconfig, self.master = flags.kubeconfig, flags.master
        log.setup(log_options(flags), self.name)
        objects = logging.getLogger("kopf.objects")
        objects.addFilter(_name_object)
        try:
            load(self.kubeconfig, self.master)  # kopf would tell of its error in a page of lines
            kopf.run(
                registry=self._registry,
                standalone=True,
                clusterwide=not flags.namespace,
                namespaces=[flags.namespace] if flags.namespace else [],
            )
        except ConfigError as error:
            logger.error('msg="no API server" operator=%s error="%s"', self.name, error)  # noqa: TRY400  # one line
            return 1
        except Exception:  # whatever ends kopf ends us
            logger.exception('msg="the operator ended" operator=%s', self.name)
            return 1
        finally:
            objects.removeFilter(_name_object)
            log.shutdown()
        return 0

    def _register(self, register: Callable[..., Any], resource: Resource[Any], options: dict[str, Any]) -> Decorator:
        words = {"group": resource.group, "version": resource.version, "plural": resource.plural}

        def decorate(function: Function) -> Function:
            path = _path(options.get("field"))
            key = (function, resource, path)  # kopf calls a function of several decorators once, known by identity
            if key not in self._adapted:
                self._adapted[key] = _adapt(function, resource, path)
            register(**words, registry=self._registry, **options)(self._adapted[key])
            return function

        return decorate

    async def _start(self, settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.persistence.finalizer = f"{self.name}/finalizer"
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=self.name, v1=False)
        settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=self.name, v1=False)
        settings.posting.reporting_component = self.name
        try:
            self._config = load(self.kubeconfig, self.master)
        except ConfigError as error:
            raise kopf.PermanentError(str(error)) from error
        self._transport = Transport(self._config, user_agent=self.name)
        self._client = Client(self._transport)
        self._sessions = SessionFactory(self._config, user_agent=self.name)
        logger.info('msg="operator starts" operator=%s server="%s"', self.name, shown(self._config.server))

    async def _login(self, **_: Any) -> kopf.AiohttpSession:
        assert self._sessions is not None, "kopf starts before it logs in"
        try:
            session = await self._sessions.open()
        except (ConfigError, CredentialsRefused) as error:
            raise kopf.TemporaryError(str(error), delay=_REFUSED_PAUSE) from error
        return kopf.AiohttpSession(
            server=self.config.server, default_namespace=self.config.namespace, aiohttp_session=session
        )

    async def _stop(self, **_: Any) -> None:
        transport, self._transport = self._transport, None
        self._client = self._sessions = self._config = None
        if transport is not None:
            await transport.aclose()


def _agree(what: str, finalizer: object) -> None:
    if finalizer is not True:
        raise ValueError(f"{what}: kopf holds each object by a finalizer until the {what} ended: say finalizer=True")


def _is_gone(*, type: str | None, **_: Any) -> bool:  # noqa: A002  # kopf's name
    return type == "DELETED"


def _while_readable(resource: Resource[Any], options: dict[str, Any]) -> dict[str, Any]:
    """
    The options with a filter that leaves out what can't be read, each reported once a change.

    kopf follows a filter as the object changes. Without one, it ends a daemon for good, repaired or not, and
    calls a timer in vain at every interval.
    """
    told: dict[str, str] = {}

    def is_readable(*, body: Mapping[str, Any], logger: Any, **_: Any) -> bool:
        uid, version = (body["metadata"].get(key, "") for key in ("uid", "resourceVersion"))
        try:
            typed(resource, body)
        except kopf.PermanentError as error:
            if told.get(uid) != version:
                if len(told) >= _REMEMBERED:
                    told.clear()
                told[uid] = version
                logger.error(str(error))  # noqa: TRY400  # the text says all
            return False
        told.pop(uid, None)
        return True

    when = options.get("when")
    return {**options, "when": kopf.all_([when, is_readable]) if when else is_readable}


def _adapt(function: Callable[..., Any], resource: Resource[Any], path: tuple[str, ...]) -> Callable[..., Any]:
    """The function as kopf calls it."""
    choose = _chooser(function)

    def arguments(given: dict[str, Any]) -> dict[str, Any]:
        return choose({**given, **_models(resource, path, given)})

    if inspect.iscoroutinefunction(inspect.unwrap(function)):

        @functools.wraps(function)
        async def adapted(**given: Any) -> None:
            _answer(resource, await function(**arguments(given)), given)

    else:

        @functools.wraps(function)
        def adapted(**given: Any) -> None:
            _answer(resource, function(**arguments(given)), given)

    return adapted


def _chooser(function: Callable[..., Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What takes from all arguments those that the function names; all when it takes any."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return lambda given: given
    return lambda given: {name: given[name] for name in parameters if name in given}


def _models(resource: Resource[Any], path: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """`obj`, and typed `old` and `new` where kopf has them: whole objects, or values of the field at `path`."""
    body = given["body"]
    models = {"obj": typed(resource, body)}
    if "old" in given and path:
        value = functools.partial(_value, resource, body, path)
        models |= {"old": _former(value, given["old"], given["logger"]), "new": value(given["new"])}
    elif "old" in given:
        whole = functools.partial(_whole, resource, body)
        models |= {"old": _former(whole, given["old"], given["logger"]), "new": models["obj"]}
    return models


def _former(read: Callable[[Any], Any], raw: Any, told: Any) -> Any:
    """What was handled last. When it can't be read, that must not keep the repaired object from its handler."""
    if raw is None:
        return None
    try:
        return read(raw)
    except kopf.PermanentError as error:
        if not isinstance(error.__cause__, DecodeError):
            raise
        told.warning('msg="the former object is left out" error="%s"', error.__cause__)
        return None


def _whole(resource: Resource[T], body: Mapping[str, Any], essence: Mapping[str, Any]) -> T:
    return typed(resource, _with_identity(essence, body))


def _with_identity(part: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    names = {key: body["metadata"][key] for key in ("name", "namespace", "uid") if key in body["metadata"]}
    return {**part, "metadata": {**part.get("metadata", {}), **names}}


def _value(resource: Resource[Any], body: Mapping[str, Any], path: tuple[str, ...], raw: Any) -> Any:
    """The value of a field as its model has it, None when it is absent."""
    if raw is None:
        return None
    around: Any = raw
    for step in reversed(path):
        around = {step: around}
    place: Any = typed(resource, _with_identity(around, body))
    for step in path:
        place = _below(place, step)
    return place


def _below(place: Any, step: str) -> Any:
    if isinstance(place, Mapping):
        return place[step]
    for field in msgspec.structs.fields(place):
        if field.encode_name == step:
            return getattr(place, field.name)
    raise kopf.PermanentError(f"{type(place).__name__} has no field {step!r}: correct the handler's field")


def _path(field: str | Sequence[str] | None) -> tuple[str, ...]:
    """A field as kopf takes it."""
    return tuple(field.split(".")) if isinstance(field, str) else tuple(field or ())


def _answer(resource: Resource[Any], answer: object, given: Mapping[str, Any]) -> None:
    """Put what a handler returned into the patch. kopf would write it to a status field that schemas drop."""
    if answer is None:
        return
    if not isinstance(answer, Builder) or type(answer).__name__ != resource.kind:
        raise kopf.PermanentError(
            f"the handler returned a {type(answer).__module__}.{type(answer).__qualname__}: "
            f"return None or the apply builder of {resource.kind}"
        )
    _merge(given["patch"], msgspec.to_builtins(answer))


def _merge(into: MutableMapping[str, Any], changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if isinstance(value, Mapping):
            if not isinstance(into.get(key), MutableMapping):
                into[key] = {}
            _merge(into[key], value)
        else:
            into[key] = value


def _name_object(record: logging.LogRecord) -> bool:
    """Add the object to kopf's lines, which carry it beside the text."""
    ref = getattr(record, "k8s_ref", None)
    if ref:
        name = "/".join(filter(None, (ref.get("kind"), ref.get("namespace"), ref.get("name"))))
        record.msg, record.args = f"{record.getMessage()} object={name}", ()
    return True
