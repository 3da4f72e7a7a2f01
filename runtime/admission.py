"""
What an admission handler is: the protocol between the server and the functions that judge objects.

A handler is a plain or async function of (request, object, old object) whose answer is a value: allowed,
denied, or changed. It knows nothing of HTTP, and the server knows nothing of kinds: a registration
(`Mutator`, `Validator`) names the path, the resources and the model to decode to. The generated
interfaces in `generated/webhooks/` adapt typed classes to these registrations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import Enum, StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from runtime.patches import Operation as PatchOperation
from runtime.resource import Resource
from runtime.wire import AdmissionRequest, GroupVersionResource

T = TypeVar("T")


class Operation(StrEnum):
    """What the request does to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Allowed(msgspec.Struct, frozen=True):
    """Let the request pass unchanged. `warnings` are shown to the user by kubectl."""

    warnings: tuple[str, ...] = ()


class Denial(msgspec.Struct, frozen=True):
    """Refuse the request. The user reads `message`, sent as it stands; see `joined` for assembled texts."""

    message: str
    code: int = 0
    """HTTP status that the user's client gets; 0 leaves the API server's own choice, 400."""
    reason: str = ""
    """Machine-readable reason, such as `Forbidden`; empty leaves it out."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def joined(cls, parts: Iterable[str]) -> Denial:
        """A message assembled from parts: put together as they are, then trimmed as a whole."""
        return cls("".join(parts).strip())


class Changed(msgspec.Struct, Generic[T], frozen=True):
    """
    Let the request pass with this object in its place.

    The server patches only what differs between the decoded object and this one: fields that the model
    doesn't know, and zero values that the user wrote out, survive.
    """

    obj: T
    warnings: tuple[str, ...] = ()


class Patch(msgspec.Struct, frozen=True):
    """Let the request pass with these JSON patch operations, in order; parents that miss are created."""

    operations: tuple[PatchOperation, ...]
    warnings: tuple[str, ...] = ()


ALLOWED = Allowed()

Validation: TypeAlias = Allowed | Denial
Mutation: TypeAlias = Allowed | Denial | Changed[T] | Patch
Verdict: TypeAlias = Allowed | Denial | Changed[Any] | Patch

MutateFunction: TypeAlias = Callable[[AdmissionRequest, T, T | None], Mutation[T] | Awaitable[Mutation[T]]]
"""(request, object, old object); the old object is None but on UPDATE and DELETE."""
ValidateFunction: TypeAlias = Callable[[AdmissionRequest, T, T | None], Validation | Awaitable[Validation]]
"""(request, object, old object); on DELETE the object is an empty one and the old object is what goes."""


class WrongOperation(Enum):
    """How a handler answers an operation that it isn't registered for. The texts are matched by clients."""

    EXPECT = "expect operation to be 'CREATE' or 'UPDATE'"
    EXPECT_TRAILING_SPACE = "expect operation to be 'CREATE' "
    INVALID = "invalid operation `CONNECT`, expect operation to be `CREATE`, `UPDATE` or `DELETE`"
    UNSUPPORTED = "unsupported operation CONNECT"
    ALLOW = ""
    """Pass without a word."""

    def verdict(self, operation: str, expected: Sequence[str]) -> Validation:
        """The answer to `operation` where only `expected` are handled."""
        if self is WrongOperation.ALLOW:
            return ALLOWED
        if self is WrongOperation.UNSUPPORTED:
            return Denial(f"unsupported operation {operation}")
        if self is WrongOperation.INVALID:
            return Denial(f"invalid operation `{operation}`, expect operation to be {_alternatives(expected, '`')}")
        text = "expect operation to be " + _alternatives(expected, "'")
        return Denial(text + " " if self is WrongOperation.EXPECT_TRAILING_SPACE else text)


def _alternatives(words: Sequence[str], quote: str) -> str:
    """`'A'`, `'A' or 'B'`, `'A', 'B' or 'C'`."""
    *first, last = [f"{quote}{word}{quote}" for word in words]
    return f"{', '.join(first)} or {last}" if first else last


class _Registration(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    path: str
    """URL path, such as `/jobs/validate`."""
    resources: tuple[Resource[Any], ...]
    """What may be asked about under this path; another resource is denied."""
    operations: tuple[str, ...]
    """In the order in which messages list them."""
    model: type[T]
    """Struct that objects decode to; all its fields have defaults."""
    wrong_operation: WrongOperation = WrongOperation.EXPECT
    intern: tuple[str, ...] = ()
    """Parts that many objects have in common, such as `spec.template`: equal ones come as one (`runtime.interning`)."""
    subresource: str = ""
    """The subresource reviewed, such as `eviction`; empty for the object itself."""

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ValueError(f"admission path {self.path!r} must start with a slash")
        if not self.resources or not self.operations:
            raise ValueError(f"admission path {self.path} is registered for no resource or no operation")

    def serves(self, asked: GroupVersionResource) -> bool:
        """Whether it is for objects of that kind."""
        return any(
            (asked.group, asked.version, asked.resource) == (r.group, r.version, r.plural) for r in self.resources
        )


class Mutator(_Registration[T], frozen=True, kw_only=True):
    """A mutating handler under a path."""

    mutate: MutateFunction[T]


class Validator(_Registration[T], frozen=True, kw_only=True):
    """A validating handler under a path."""

    validate: ValidateFunction[T]


Handler: TypeAlias = Mutator[Any] | Validator[Any]
