"""
Decoding in which equal parts of many objects become one.

Ten thousand pods of fifty jobs hold fifty different container lists. Here the parts that the caller names are found
again by the hash of their JSON text: a known part costs two hashes instead of a decode, takes no memory of its own,
and "same template" turns into `a.spec.containers is b.spec.containers`.

A pool forgets what no object holds any longer, so that years of jobs leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from sys import getrefcount, intern
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from runtime.decoding import without_nulls
from runtime.shadow import Cutter, Finish, Node, plan, tree_of

T = TypeVar("T")
Text = bytes | bytearray | memoryview | Raw
Rewrite = Callable[[bytes], bytes]

_SWEEP_STEPS = 4
"""Entries looked at for each new one: garbage never outgrows what is in use, and no decode pauses for a sweep."""


_NOTHING: Any = object()


def _references_of_an_unshared_value() -> int:
    values = {0: object()}
    return getrefcount(values.get(0))


_UNSHARED = _references_of_an_unshared_value()
"""What getrefcount reports for a value that only its pool holds; measured, as it differs between Python versions."""


class Pool:
    """
    Parts of one type, by the hash of their JSON text, which `rewrite` may bring to a common form before.

    Python's hash of bytes is SipHash under a key of this process; two of them, of the text and of the text with a
    blank behind, are 128 bits that nobody can aim at. So the text itself, as long as the part, need not be kept.
    """

    def __init__(self, decode: Callable[[bytes], Any], rewrite: Rewrite | None = None) -> None:
        self._decode = decode
        self._rewrite = rewrite
        self._values: dict[int, Any] = {}
        self._hand: Iterator[int] = iter(())

    def __len__(self) -> int:
        return len(self._values)

    def get(self, raw: Text) -> Any:
        """The one value of this text. Raises msgspec.ValidationError when the type can't hold it."""
        text = bytes(raw) if self._rewrite is None else self._rewrite(bytes(raw))
        key = hash(text) << 64 ^ hash(text + b" ")
        value = self._values.get(key, _NOTHING)
        if value is _NOTHING:
            value = self._values[key] = self._decode(text)
            for _ in range(_SWEEP_STEPS):
                self._step()
        return value

    def _step(self) -> None:
        """Look at the next part and drop it if only the pool holds it."""
        key = next(self._hand, None)
        if key is None:
            self._hand = iter(list(self._values))
        elif getrefcount(self._values.get(key)) <= _UNSHARED:
            self._values.pop(key, None)

    def sweep(self) -> None:
        """Drop everything that is no longer in use, at once."""
        self._hand = iter(())
        for _ in range(len(self._values) + 1):
            self._step()


class InterningDecoder(Generic[T]):
    """
    Decodes a model and interns the parts at `intern`, leaving out the fields at `drop`.

    Paths are JSON names: `spec`, `spec.containers`, `spec.containers[].env`, `status.conditions[]`. A path below
    another one is used where the outer part is new: containers that differ in one mount still share their environment.
    `rewrite` sees the text of each outermost part first, and may take out what makes equal parts differ, such as the
    random name of a pod's token volume; the objects then differ from the server's in just that.

    What comes out are normal objects of the model; an interned part is shared, so it must not be changed.
    Raises ValueError for a path that the model doesn't have.
    """

    def __init__(
        self, model: type[T], *, intern: Iterable[str], drop: Iterable[str] = (), rewrite: Rewrite | None = None
    ) -> None:
        self._pools: dict[str, Pool] = {}
        derived = plan(model, tree_of(intern, drop), self._cutter(rewrite))
        self.shadow: Any = derived.shadow
        """The type to decode to where the object stands inside another document; `finish` makes it the model's."""
        self._finish = derived.finish
        self._decoder = msgspec.json.Decoder(self.shadow)

    @property
    def pools(self) -> dict[str, Pool]:
        """The pool of each interned path (`$.spec.containers`), for tests and statistics."""
        return dict(self._pools)

    def finish(self, shadow: Any) -> T:
        """The model's object of a decoded `shadow`. Raises msgspec.ValidationError for a bad interned part."""
        finished: T = self._finish(shadow) if self._finish else shadow
        return finished

    def decode(self, data: Text) -> T:
        """As `runtime.decoding.ObjectDecoder.decode`, nulls included."""
        try:
            return self.finish(self._decoder.decode(data))
        except msgspec.ValidationError as refused:
            pruned = msgspec.json.encode(without_nulls(msgspec.json.decode(data)))
            try:
                return self.finish(self._decoder.decode(pruned))
            except msgspec.ValidationError as error:
                raise error from refused

    def _cutter(self, rewrite: Rewrite | None) -> Cutter:
        """Gives a part its pool, with a decoder that goes on interning below it."""

        def cut(kind: Any, below: Node, path: str) -> Finish:
            derived = plan(kind, below, self._cutter(None), path)
            pool = self._pools[path] = Pool(_part_decoder(derived.shadow, derived.finish, path), rewrite)
            return pool.get

        return cut


def _part_decoder(shadow: Any, finish: Finish | None, path: str) -> Callable[[bytes], Any]:
    decoder = msgspec.json.Decoder(shadow)

    def decode(text: bytes) -> Any:
        try:
            part = decoder.decode(text)
        except msgspec.ValidationError as error:
            raise _below(path, error) from error
        return _share_strings(finish(part) if finish else part)

    return decode


def _share_strings(part: Any) -> Any:
    """Let a new part's own strings be those of others: pods that differ in node name still have one scheduler name."""
    if isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if type(value) is str:
                force_setattr(part, name, intern(value))
    return part


def _below(path: str, error: msgspec.ValidationError) -> msgspec.ValidationError:
    """The error of a part, with the path that leads to it: `... - at `$.spec.containers[0].name``."""
    problem, _, inner = str(error).partition(" - at `$")
    return msgspec.ValidationError(f"{problem} - at `{path}{inner or '`'}")
