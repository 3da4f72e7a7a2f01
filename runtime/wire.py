"""
The few Kubernetes types that the machine itself speaks.

Generated models stand above the runtime and may not be imported here, so Status, Lease, Event and
AdmissionReview live here as private structs with just the fields in use.
"""

from __future__ import annotations

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of the wire types: camelCase names, zero values left out."""


class StatusCause(Wire, frozen=True, gc=False):
    """One field's failure in a 422."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Wire, frozen=True, gc=False):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(Wire, frozen=True, gc=False):
    """meta/v1 Status: the server's word on a failure."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0

    @property
    def retry_after(self) -> int:
        """Seconds to wait before the next try, 0 when the server did not say."""
        return self.details.retry_after_seconds if self.details else 0


class GroupVersionKind(Wire, frozen=True, gc=False):
    """A kind as an AdmissionReview names it."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Wire, frozen=True, gc=False):
    """A resource as an AdmissionReview names it."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(Wire, frozen=True, gc=False):
    """Who sent the request under review."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class AdmissionRequest(Wire, frozen=True, gc=False):
    """The question of an AdmissionReview. Objects stay raw JSON: only the handler's registration knows their model."""

    uid: str = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    name: str = ""
    """Empty on CREATE with generateName and on deletion of a collection."""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: msgspec.Raw = msgspec.Raw()
    old_object: msgspec.Raw = msgspec.Raw()
    dry_run: bool | None = None
    options: msgspec.Raw = msgspec.Raw()

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing will be stored: a handler with side effects must skip them."""
        return bool(self.dry_run)


class AdmissionResponse(Wire, frozen=True, gc=False, omit_defaults=False):
    """The answer of an AdmissionReview. The unset members are left out, `uid` and `allowed` never."""

    uid: str
    allowed: bool
    status: Status | msgspec.UnsetType = msgspec.UNSET
    patch: bytes | msgspec.UnsetType = msgspec.UNSET
    """JSON patch; base64 on the wire."""
    patch_type: str | msgspec.UnsetType = msgspec.UNSET
    warnings: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class AdmissionReview(Wire, frozen=True, gc=False):
    """admission.k8s.io AdmissionReview, v1 or v1beta1: the two versions have the same shape."""

    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None


class ListMeta(Wire, frozen=True, gc=False):
    """metadata of a list answer."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class HeadMeta(Wire, frozen=True, gc=False):
    """The names in an object's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Head(Wire, frozen=True, gc=False):
    """The type and identity of an object, read without the rest."""

    api_version: str = ""
    kind: str = ""
    metadata: HeadMeta = HeadMeta()


class Preconditions(Wire, frozen=True, gc=False):
    """What must hold of the stored object for a delete to go through."""

    uid: str = ""
    resource_version: str = ""


class DeleteOptions(Wire, frozen=True, gc=False):
    """Body of a delete; `kind` and `apiVersion` are always written."""

    api_version: str
    kind: str
    preconditions: Preconditions | None = None
    propagation_policy: str = ""
    grace_period_seconds: int | None = None
    dry_run: tuple[str, ...] = ()


class ServerVersion(Wire, frozen=True, gc=False):
    """Answer of `/version`."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    platform: str = ""


class ApiResource(Wire, frozen=True, gc=False):
    """One served resource or subresource (`pods/eviction`)."""

    name: str = ""
    singular_name: str = ""
    namespaced: bool = False
    group: str = ""
    version: str = ""
    kind: str = ""
    verbs: tuple[str, ...] = ()


class ApiResourceList(Wire, frozen=True, gc=False):
    """Answer of `/apis/<group>/<version>`."""

    group_version: str = ""
    resources: tuple[ApiResource, ...] = ()


class ObjectMeta(Wire, frozen=True):
    """metadata of the kinds that the machine writes itself; what an update must not lose is kept as it came."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[msgspec.Raw, ...] = ()


class LeaseSpec(Wire, frozen=True, gc=False):
    """Who holds a lease. Others write it too, so nothing is taken for granted: every field may be null."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Wire, frozen=True):
    """coordination.k8s.io/v1 Lease."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec | None = None


class ObjectReference(Wire, frozen=True, gc=False):
    """The object that an Event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(Wire, frozen=True, gc=False):
    """Which component saw it, and where."""

    component: str = ""
    host: str = ""


class Event(Wire, frozen=True):
    """core/v1 Event. Times are RFC 3339 in whole seconds."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    first_timestamp: str = ""
    last_timestamp: str = ""
    count: int = 0
    reporting_component: str = ""
    reporting_instance: str = ""
