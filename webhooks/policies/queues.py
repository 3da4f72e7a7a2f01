"""Queues, as far as one of them can be judged without the others (webhooks.md 6)."""

from __future__ import annotations

from typing import Final

from api import names
from generated.scheduling.v1beta1 import QUEUES
from webhooks.policies.policy import NOTHING, Policy, Rule, given, literal
from webhooks.queues import amounts, deletion, paths, validation

_DELETION: Final = "request.operation == 'DELETE'"
_PATH: Final = literal(names.HIERARCHY_ANNOTATION)
_WEIGHTS: Final = literal(names.HIERARCHY_WEIGHTS_ANNOTATION)
_RESOURCES: Final = ("capability", "deserved", "guarantee.resource")
_WEIGHT: Final = r"^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$"
_EXTENDED: Final = "(r.contains('/') && !r.contains('kubernetes.io/') && !r.startsWith('requests.'))"


def _map(field: str, of: str = "object") -> str:
    return given(f"{of}.spec.{field}", "{}")


def _annotation(key: str, of: str) -> str:
    return f"(has({of}.metadata.annotations) && {key} in {of}.metadata.annotations ? {of}.metadata.annotations[{key}] : '')"


_VARIABLES: Final = {
    "isRoot": f"dyn(object) != null && object.metadata.name == {literal(names.ROOT_QUEUE)}",
    "parent": f"{_DELETION} ? '' : {given('object.spec.parent', NOTHING)}",
    "oldParent": f"request.operation == 'UPDATE' ? {given('oldObject.spec.parent', NOTHING)} : ''",
    **{name.partition(".")[0]: f"{_DELETION} ? {{}} : {_map(name)}" for name in _RESOURCES},
    "path": f"{_DELETION} ? '' : {_annotation(_PATH, 'object')}",
    "weights": f"{_DELETION} ? '' : {_annotation(_WEIGHTS, 'object')}",
    "samePath": (
        f"request.operation == 'UPDATE' && variables.path == {_annotation(_PATH, 'oldObject')}"
        f" && variables.weights == {_annotation(_WEIGHTS, 'oldObject')}"
    ),
}
_ROOT_SAME: Final = " && ".join(f"{_map(name)} == {_map(name, 'oldObject')}" for name in _RESOURCES)


def _amount(name: str, resource: str = "r") -> str:
    return f"quantity(string(variables.{name}[{resource}]))"


def _each(name: str, field: str, problem: str, detail: str) -> Rule:
    """About each resource `r` of a list."""
    value = f"'\"' + string(variables.{name}[r]) + '\"'"
    text = f"'{amounts.BODY}.spec.{field}.' + r + ': Invalid value: ' + {value} + ': {detail}'"
    told = f"variables.{name}.filter(r, {problem}).map(r, {text})[0]"
    return Rule(f"!variables.{name}.exists(r, {problem})", detail, told)


def _own(field: str) -> tuple[Rule, Rule]:
    name = field.partition(".")[0]
    whole = f"(r in {literal(sorted(amounts.COUNTS))} || {_EXTENDED})"
    number = f"{_amount(name)}.asApproximateFloat()"
    return (
        _each(name, field, f"{_amount(name)}.isLessThan(quantity('0'))", amounts.NOT_NEGATIVE),
        _each(name, field, f"{whole} && double(int({number})) != {number}", amounts.WHOLE),
    )


_PROTECTED: Final = literal(deletion.PROTECTED)
_RULES: Final = (
    Rule(
        f"request.operation != 'DELETE' || !(oldObject.metadata.name in {_PROTECTED})",
        "the queues `default` and `root` can not be deleted",
        "'`' + oldObject.metadata.name + '` queue can not be deleted'",
    ),
    *(rule for field in _RESOURCES for rule in _own(field)),
    Rule(
        f"variables.guarantee.all(r, r in variables.deserved && {_amount('deserved')}"
        f".compareTo({_amount('guarantee')}) >= 0)",
        "deserved must be >= guarantee",
        f"variables.guarantee.filter(r, !(r in variables.deserved) || {_amount('deserved')}"
        f".compareTo({_amount('guarantee')}) < 0).map(r, '{amounts.BODY}.spec.deserved.' + r + ': deserved[' + r"
        " + '] must be >= guarantee[' + r + ']=' + string(variables.guarantee[r]))[0]",
    ),
    Rule(
        f"variables.deserved.all(r, !(r in variables.capability) || {_amount('deserved')}"
        f".compareTo({_amount('capability')}) <= 0)",
        "deserved must be <= capability",
        f"variables.deserved.filter(r, r in variables.capability && {_amount('deserved')}"
        f".compareTo({_amount('capability')}) > 0).map(r, '{amounts.BODY}.spec.deserved.' + r + ': deserved[' + r"
        " + '] must be <= capability[' + r + ']=' + string(variables.capability[r]))[0]",
    ),
    Rule(
        "variables.samePath || size(variables.path.split('/')) == size(variables.weights.split('/'))",
        f"{paths.FIELD}: {paths.SAME_LENGTH}",
    ),
    Rule(
        "variables.samePath || (variables.path == '' && variables.weights == '')"
        f" || variables.weights.split('/').all(w, w.matches({literal(_WEIGHT)}) && double(w) > 0.0)",
        f"{paths.FIELD}: each of {names.HIERARCHY_WEIGHTS_ANNOTATION} must be a number larger than 0",
    ),
    Rule(
        "variables.samePath || variables.path == '' || variables.path.split('/').all(part, part != '')",
        f"{paths.FIELD}: {paths.EMPTY_PART}",
    ),
    Rule(
        "variables.isRoot || variables.parent == '' || variables.parent != object.metadata.name",
        "a queue cannot use itself as parent",
        "'queue ' + object.metadata.name + ' cannot use itself as parent'",
    ),
    Rule(
        "!variables.isRoot || variables.parent == '' || variables.parent == variables.oldParent",
        "root queue's parent must stay empty",
    ),
    Rule(f"request.operation != 'UPDATE' || !variables.isRoot || ({_ROOT_SAME})", validation.ROOT_IS_FIXED),
)
_CHANGED: Final = (
    "request.operation != 'UPDATE' || (!has(object.metadata.deletionTimestamp) && ("
    f"{given('object.spec', '{}')} != {given('oldObject.spec', '{}')}"
    f" || {_annotation(_PATH, 'object')} != {_annotation(_PATH, 'oldObject')}"
    f" || {_annotation(_WEIGHTS, 'object')} != {_annotation(_WEIGHTS, 'oldObject')}))"
)
POLICY: Final[Policy] = Policy(
    "queue-validation-policy", QUEUES, ("CREATE", "UPDATE", "DELETE"), _RULES, _VARIABLES, {"changed": _CHANGED}
)
