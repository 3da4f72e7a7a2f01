"""
What readers see of a cache: objects by key, by namespace, by labels and by index.

Objects are shared and frozen: a reader that wants a changed one makes its own (`runtime.edit`). A `Lister` filled
from a list is also the fake that unit tests hand to reconcilers and admission handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Generic, TypeVar

from runtime.objects import Key, Object, key_of
from runtime.selector import Selector

T = TypeVar("T", bound=Object)

Indexer = Callable[[T], Iterable[str]]
"""The values under which an index finds an object: none, one or several. A function of the object alone."""


class Index(Generic[T]):
    """Objects by the values that a function gives them."""

    __slots__ = ("_buckets", "values_of")

    def __init__(self, values_of: Indexer[T]) -> None:
        self.values_of = values_of
        self._buckets: dict[str, dict[Key, T]] = {}

    def put(self, key: Key, obj: T, values: tuple[str, ...], old: T | None) -> None:
        """Hold an object under its values, in place of its older self."""
        if old is not None and (before := tuple(self.values_of(old))) != values:
            self._forget(key, set(before).difference(values))
        for value in values:
            bucket = self._buckets.get(value)
            if bucket is None:
                bucket = self._buckets[value] = {}
            bucket[key] = obj

    def remove(self, key: Key, old: T) -> None:
        self._forget(key, set(self.values_of(old)))

    def _forget(self, key: Key, values: Iterable[str]) -> None:
        """A value without objects leaves nothing behind."""
        for value in values:
            bucket = self._buckets[value]
            del bucket[key]
            if not bucket:
                del self._buckets[value]

    def get(self, value: str) -> Iterable[T]:
        bucket = self._buckets.get(value)
        return bucket.values() if bucket else ()

    def count(self, value: str) -> int:
        return len(self._buckets.get(value, ()))

    def values(self) -> list[str]:
        return list(self._buckets)


class Lister(Generic[T]):
    """Read access to the objects of one kind. Lists are new lists, by namespace and then in order of arrival."""

    def __init__(self, indexers: Mapping[str, Indexer[T]] | None = None) -> None:
        self._namespaces: dict[str, dict[Key, T]] = {}
        self._indexes: dict[str, Index[T]] = {name: Index(values_of) for name, values_of in (indexers or {}).items()}

    @classmethod
    def filled(cls, objects: Iterable[T], indexers: Mapping[str, Indexer[T]] | None = None) -> Store[T]:
        """A lister of exactly these objects, for tests and for functions of a snapshot."""
        store: Store[T] = Store(indexers)
        for obj in objects:
            store.put(obj)
        return store

    def get(self, key: Key) -> T | None:
        """The object of that name, or None."""
        siblings = self._namespaces.get(key.namespace)
        return siblings.get(key) if siblings is not None else None

    def by_index(self, name: str, value: str) -> list[T]:
        """The objects that an index holds under a value. Raises KeyError for an index that nobody declared."""
        return list(self._index(name).get(value))

    def count(self, name: str, value: str) -> int:
        """How many objects that are, at no cost. Raises KeyError for an index that nobody declared."""
        return self._index(name).count(value)

    def index_values(self, name: str) -> list[str]:
        """The values that an index has objects for. Raises KeyError for an index that nobody declared."""
        return self._index(name).values()

    def keys(self) -> list[Key]:
        return list(chain.from_iterable(self._namespaces.values()))

    def namespaces(self) -> list[str]:
        """The namespaces that hold objects; one empty name for a cluster-scoped kind."""
        return list(self._namespaces)

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[T]:
        """Over a copy: the cache may change while the caller waits."""
        return iter(self.list())

    def _index(self, name: str) -> Index[T]:
        index = self._indexes.get(name)
        if index is None:
            raise KeyError(f"no index {name!r}; declared: {', '.join(self._indexes) or 'none'}")
        return index

    def list(self, namespace: str | None = None, selector: Selector | None = None) -> list[T]:
        """All objects, or those of a namespace, or those whose labels match."""
        found: Iterable[T]
        if namespace is None:
            found = chain.from_iterable(siblings.values() for siblings in self._namespaces.values())
        else:
            found = self._namespaces.get(namespace, {}).values()
        if selector is None or selector.selects_everything:
            return list(found)
        matches = selector.matches
        return [obj for obj in found if matches(obj.metadata.labels)]


class Store(Lister[T]):
    """The lister's other face, for the one who fills it."""

    def put(self, obj: T) -> T | None:
        """
        Add or replace an object; the one that it replaces, if any.

        An indexer that throws leaves the store as it was, and its exception goes to the caller.
        """
        key = key_of(obj)
        old = self.get(key)
        self.set(key, obj, old)
        return old

    def set(self, key: Key, obj: T, old: T | None) -> None:
        """As `put`, for a caller who has looked up already what is there."""
        found: list[tuple[Index[T], tuple[str, ...]]] = []  # all of it before anything is changed
        for index in self._indexes.values():
            found.append((index, tuple(index.values_of(obj))))  # noqa: PERF401  # a comprehension costs a call
        try:
            self._namespaces[key.namespace][key] = obj
        except KeyError:
            self._namespaces[key.namespace] = {key: obj}
        for index, values in found:
            index.put(key, obj, values, old)

    def remove(self, key: Key) -> T | None:
        """Take an object out; it, or None when there was none."""
        siblings = self._namespaces.get(key.namespace)
        old = siblings.pop(key, None) if siblings is not None else None
        if old is None:
            return None
        if not siblings:
            del self._namespaces[key.namespace]
        for index in self._indexes.values():
            index.remove(key, old)
        return old

    def add_indexers(self, indexers: Mapping[str, Indexer[T]]) -> None:
        """
        Declare further indexes, filled with what is here already.

        Raises ValueError when a name is taken by another function. An indexer that throws adds no index.
        """
        for name, values_of in indexers.items():
            known = self._indexes.get(name)
            if known is not None and known.values_of is not values_of:
                raise ValueError(f"index {name!r} is declared twice with different functions")
            if known is None:
                self._indexes[name] = self._filled_index(values_of)

    def _filled_index(self, values_of: Indexer[T]) -> Index[T]:
        index = Index(values_of)
        for siblings in self._namespaces.values():
            for key, obj in siblings.items():
                index.put(key, obj, tuple(values_of(obj)), None)
        return index
