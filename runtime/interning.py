"""
Decoding in which equal parts of many objects become one.

Ten thousand pods of fifty jobs hold fifty different container lists. Here the parts that the caller names are found
again by the hash of their JSON text: a known part costs two hashes instead of a decode, takes no memory of its own,
and "same template" turns into `a.spec.containers is b.spec.containers`.

A pool forgets what no object holds any longer, so that years of jobs leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from secrets import token_bytes
from sys import getrefcount
from typing import Any, Generic, TypeVar, get_origin

import msgspec
from msgspec import Raw
from msgspec.structs import FieldInfo, force_setattr

from runtime.decoding import without_nulls
from runtime.shadow import Finish, Node, Recall, plan, tree_of
from runtime.templates import Templates

T = TypeVar("T")
Text = bytes | bytearray | memoryview | Raw
Rewrite = Callable[[bytes], bytes]

_SWEEP_EVERY = 8
"""So many new entries come between two looks at old ones; one look at many costs less than many at one."""
_SWEEP_STEPS = 4 * _SWEEP_EVERY
"""Entries looked at then: garbage never outgrows what is in use, and no decode pauses for a sweep."""


_SALT = token_bytes(32)
_EMPTY_MAP: dict[str, Any] = {}
_NOTHING: Any = object()


def _references_of_an_unshared_value() -> int:
    values = {0: object()}
    return getrefcount(values.get(0))


_UNSHARED = _references_of_an_unshared_value()
"""What getrefcount reports for a value that only its pool holds; measured, as it differs between Python versions."""


class Pool:
    """
    Parts of one type, by their JSON text, which `rewrite` may bring to a common form before.

    Of a text only the hash is kept. Python's hash of bytes is a SipHash, here of the text behind a random salt, so
    nobody can aim at another's part, not even where PYTHONHASHSEED is known; and by accident, a billion new texts beside
    100,000 that are in use meet one with the same 64 bits with a probability of 5 in a million.
    """

    def __init__(self, decode: Callable[[bytes], Any], rewrite: Rewrite | None = None) -> None:
        self._decode = decode
        self._rewrite = rewrite
        self._values: dict[int, Any] = {}
        self._hand: Iterator[int] = iter(())
        self._until_sweep = _SWEEP_EVERY

    def __len__(self) -> int:
        return len(self._values)

    @property
    def recall(self) -> Finish:
        """`get`, for a finisher that looks into the pool itself."""
        return self.get if self._rewrite else Recall(self._values, self._find, _SALT)

    def get(self, raw: Text) -> Any:
        """The one value of this text. Raises msgspec.ValidationError when the type can't hold it."""
        text = raw if self._rewrite is None else self._rewrite(bytes(raw))
        return self._find(hash(_SALT + text), text)  # takes any buffer, and quicker than bytes() would

    def _find(self, key: int, text: Text) -> Any:
        """The value of a text with this hash."""
        value = self._values.get(key, _NOTHING)
        if value is not _NOTHING:
            return value
        value = self._values[key] = self._decode(bytes(text))
        self._until_sweep -= 1
        if not self._until_sweep:
            self._until_sweep = _SWEEP_EVERY
            self._look_at(_SWEEP_STEPS)
        return value

    def _look_at(self, count: int) -> None:
        """Drop those of the next parts that only the pool holds; behind the last comes the first."""
        values = self._values
        keys = list(islice(self._hand, count))
        for key in [key for key in keys if getrefcount(values.get(key)) <= _UNSHARED]:
            values.pop(key, None)
        if len(keys) < count:
            self._hand = iter(list(values))

    def sweep(self) -> None:
        """Drop everything that is no longer in use, at once."""
        self._hand = iter(list(self._values))
        self._look_at(len(self._values))


def _words() -> Pool:
    """
    Texts, each once, by their UTF-8.

    Not sys.intern: since Python 3.12 what it took in stays for ever, such as the host name of every pod there ever was.
    """
    return Pool(lambda text: text.decode("utf-8", "surrogatepass"))


class InterningDecoder(Generic[T]):
    """
    Decodes a model and interns the parts at `intern`, leaving out the fields at `drop`.

    Paths are JSON names: `spec`, `spec.containers`, `spec.containers[].env`, `status.conditions[]`. A path below
    another one is used where the outer part is new: containers that differ in one mount still share their environment.
    A function in `rewrite` sees the text of its part first, and may take out what makes equal parts differ, such as
    the random name of a pod's token volume; the objects then differ from the server's in just that. `vary` names texts
    in which interned parts differ that are otherwise alike, such as `spec.nodeName`, one a part: parts that are new in
    nothing else are quick to make (`runtime.templates`).

    What comes out are normal objects of the model; an interned part is shared, so it must not be changed.
    Raises ValueError for a path that the model doesn't have.
    """

    def __init__(
        self,
        model: type[T],
        *,
        intern: Iterable[str],
        drop: Iterable[str] = (),
        rewrite: Mapping[str, Rewrite] | None = None,
        vary: Iterable[str] = (),
    ) -> None:
        paths = tuple(intern)
        self._rewrites = {f"$.{path}": function for path, function in (rewrite or {}).items()}
        self._varying: dict[str, str] = {}
        for path in vary:
            part, _, name = path.rpartition(".")
            if part not in paths or f"$.{part}" in self._varying:
                raise ValueError(f"varying, but not the only such field of an interned part: {path}")
            self._varying[f"$.{part}"] = name
        if unknown := self._rewrites.keys() - {f"$.{path}" for path in paths}:
            raise ValueError(f"rewritten, but not interned: {', '.join(sorted(unknown))}")
        self._pools: dict[str, Pool] = {}
        self.words = _words()
        """The texts in interned parts: two pods of one node hold one name of it."""
        derived = plan(model, tree_of(paths, drop), self._cut)
        self.shadow: Any = derived.shadow
        """The type to decode to where the object stands inside another document; `finish` makes it the model's."""
        self.finish: Callable[[Any], T] = derived.finish or _as_it_is
        """The model's object of a decoded `shadow`. Raises msgspec.ValidationError for a bad interned part."""
        self._decoder = msgspec.json.Decoder(self.shadow)

    @property
    def pools(self) -> dict[str, Pool]:
        """The pool of each interned path (`$.spec.containers`), for tests and statistics."""
        return dict(self._pools)

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

    def _cut(self, kind: Any, below: Node, path: str) -> Finish:
        """Give a part its pool, with a decoder that goes on interning below it."""
        derived = plan(kind, below, self._cut, path)
        decode = _part_decoder(kind, derived.shadow, derived.finish, path, self.words)
        rewrite = self._rewrites.get(path)
        if path in self._varying:
            templates = Templates(decode, _text_field(kind, path, self._varying[path]), self.words.get)
            decode, rewrite = _after(rewrite, templates.get), None  # no text is seen twice in any case
        pool = self._pools[path] = Pool(decode, rewrite)
        return pool.recall


def _as_it_is(obj: T) -> T:
    return obj


def _after(rewrite: Rewrite | None, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    return decode if rewrite is None else lambda text: decode(rewrite(text))


def _text_field(kind: Any, path: str, name: str) -> FieldInfo:
    """The field of a struct that holds a text. Raises ValueError when there is no such field."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for info in msgspec.structs.fields(kind):
            if info.encode_name == name and info.type is str:
                return info
    raise ValueError(f"{path}: {kind} has no text {name!r}, so that can't vary")


def _part_decoder(kind: Any, shadow: Any, finish: Finish | None, path: str, words: Pool) -> Callable[[bytes], Any]:
    decoder = msgspec.json.Decoder(shadow)
    texts, maps = _small_fields(kind)

    def decode(text: bytes) -> Any:
        try:
            part = decoder.decode(text)
        except msgspec.ValidationError as error:
            raise _below(path, error) from error
        if finish is not None:
            part = finish(part)
        # pods that differ in node name alone still have one scheduler name: half of what such a spec would cost
        for name in texts:
            if value := getattr(part, name):
                force_setattr(part, name, words.get(value.encode("utf-8", "surrogatepass")))
        for name in maps:
            if not getattr(part, name):
                force_setattr(part, name, _EMPTY_MAP)
        return part

    return decode


def _small_fields(kind: Any) -> tuple[list[str], list[str]]:
    """The text fields and the map fields of a struct; none of any other type."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return [], []
    fields = msgspec.structs.fields(kind)
    return [f.name for f in fields if f.type is str], [f.name for f in fields if get_origin(f.type) is dict]


def _below(path: str, error: msgspec.ValidationError) -> msgspec.ValidationError:
    """The error of a part, with the path that leads to it: `... - at `$.spec.containers[0].name``."""
    problem, _, inner = str(error).partition(" - at `$")
    return msgspec.ValidationError(f"{problem} - at `{path}{inner or '`'}")
