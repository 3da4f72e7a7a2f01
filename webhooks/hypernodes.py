"""`/hypernodes/validate`: a HyperNode has members, and their patterns mean something (webhooks.md 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from generated.topology.v1alpha1 import HyperNode, MemberSelector, MemberType
from generated.webhooks.base import ValidationAnswer
from generated.webhooks.topology_v1alpha1 import HyperNodeValidator
from runtime import patterns
from runtime.admission import ALLOWED, WrongOperation
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.causes import Causes, aggregate
from webhooks.jobs.changes import first_change
from webhooks.sent import sent_spec
from webhooks.verdicts import verdict

MEMBERS: Final = "spec.members"
NO_MEMBER: Final = "member must have at least one member"
BAD_PATTERN: Final = "member regexMatch pattern is invalid: "


class HyperNodeRules(HyperNodeValidator):
    """Everything else is in the schema."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.ALLOW
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        """Nothing of the context is needed."""

    def validate_create(self, request: AdmissionRequest, obj: HyperNode) -> ValidationAnswer:
        """All members."""
        causes = Causes()
        if not obj.spec.members:
            causes.invalid(MEMBERS, sent_spec(request).get("members"), NO_MEMBER)
        for index, member in enumerate(obj.spec.members):
            _check_pattern(causes, f"{MEMBERS}[{index}].selector.regexMatch.pattern", member.selector)
        return verdict(aggregate(causes), tuple(_self_warnings(obj)))

    def validate_update(self, request: AdmissionRequest, obj: HyperNode, old: HyperNode) -> ValidationAnswer:
        """The same, unless nothing changed: a stored one must not keep its finalizers for ever."""
        if obj.metadata.deletion_timestamp or not first_change(old.spec, obj.spec, "spec"):
            return ALLOWED
        return self.validate_create(request, obj)


def _check_pattern(causes: Causes, field: str, selector: MemberSelector) -> None:
    if selector.regex_match is None or not selector.regex_match.pattern:
        return
    try:
        patterns.check(selector.regex_match.pattern)
    except patterns.PatternError as error:
        causes.invalid(field, selector.regex_match.pattern, f"{BAD_PATTERN}{error}")


def _self_warnings(hypernode: HyperNode) -> Iterator[str]:
    """Members that are the HyperNode itself: they count for nothing."""
    name = hypernode.metadata.name
    for index, member in enumerate(hypernode.spec.members):
        if member.type == MemberType.HYPER_NODE and _selects(member.selector, name):
            yield f"{MEMBERS}[{index}]: selects {name} itself, which can't be a member of itself"


def _selects(selector: MemberSelector, name: str) -> bool:
    if selector.exact_match is not None and selector.exact_match.name == name:
        return True
    if selector.regex_match is None or not selector.regex_match.pattern:
        return False
    try:
        return patterns.Pattern(selector.regex_match.pattern).matches(name)
    except patterns.PatternError:
        return False
