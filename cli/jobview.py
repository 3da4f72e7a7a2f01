"""`vcctl job view`: a job as indented text, with TABs between labels and values."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cli import fields, output, times
from cli.context import Context
from cli.errors import CommandError
from cli.jobevents import event_lines
from cli.kinds import JOBS, Object
from cli.requesting import get_object

NONE = "<none>"

_COUNTERS = (
    ("Succeeded:    ", "succeeded"),
    ("Pending:      ", "pending"),
    ("Running:      ", "running"),
    ("Failed:       ", "failed"),
    ("Terminating:  ", "terminating"),
    ("Unknown:      ", "unknown"),
    ("RetryCount:   ", "retryCount"),
    ("Min Available:", "minAvailable"),
    ("Version:      ", "version"),
)
_TEMPLATE_ANNOTATIONS = (
    ("Cri . Cci . Io / Container - Type:          ", "cri.cci.io/container-type"),
    ("Kubernetes . Io / Availablezone:            ", "kubernetes.io/availablezone"),
    ("Network . Alpha . Kubernetes . Io / Network:", "network.alpha.kubernetes.io/network"),
)
Line = tuple[int, str]


def run(context: Context) -> None:
    """Show one job and its events."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("job name (specified by --name or -N) is mandatory to view a particular job")
    show(context, name)


def show(context: Context, name: str, *, has_conditions: bool = True) -> None:
    """The description of a job, or the format of `-o`. `vjobs` leaves the conditions out."""
    wanted = output.output_format(context)
    job = get_object(context, JOBS, name, context.namespace)
    if not output.is_table(wanted):
        output.print_object(context, JOBS, job, wanted)
        return
    lines = list(describe(job, has_conditions=has_conditions))
    if wanted == output.WIDE:
        lines += _wide(job)
    context.print_lines("  " * level + text for level, text in lines)
    context.print_lines(event_lines(context, job))


def describe(job: Object, *, has_conditions: bool = True) -> Iterator[Line]:
    """(indent, text) of each line; an indent is two blanks."""
    metadata = fields.mapping(job, "metadata")
    yield 0, f"Name:       \t{fields.name(job)}"
    yield 0, f"Namespace:  \t{fields.namespace(job)}"
    yield 0, f"Labels:     \t{_map(fields.labels_of(job))}"
    yield 0, f"Annotations:\t{_map(fields.annotations_of(job))}"
    yield 0, f"API Version:\t{JOBS.api_version}"
    yield 0, f"Kind:       \t{JOBS.kind}"
    yield 0, "Metadata:"
    yield 1, f"Creation Timestamp:\t{times.stamp(fields.text(metadata, 'creationTimestamp'))}"
    yield 1, f"Generate Name:     \t{fields.text(metadata, 'generateName')}"
    yield 1, f"Generation:        \t{fields.number(metadata, 'generation')}"
    yield 1, f"Resource Version:  \t{fields.text(metadata, 'resourceVersion')}"
    yield 1, f"UID:               \t{fields.text(metadata, 'uid')}"
    yield from _spec(fields.mapping(job, "spec"))
    yield from _status(fields.mapping(job, "status"), has_conditions=has_conditions)


def _spec(spec: Object) -> Iterator[Line]:
    yield 0, "Spec:"
    yield 1, f"Min Available:     \t{fields.number(spec, 'minAvailable')}"
    yield 1, "Plugins:"
    yield 2, f"Env:\t{_list(fields.texts(spec, 'plugins', 'env'))}"
    yield 2, f"Ssh:\t{_list(fields.texts(spec, 'plugins', 'ssh'))}"
    yield 1, f"Scheduler Name:    \t{fields.text(spec, 'schedulerName')}"
    yield 1, "Tasks:"
    for task in fields.items(spec, "tasks"):
        yield 2, f"Name:\t{fields.text(task, 'name')}"
        yield 2, f"Replicas:\t{fields.number(task, 'replicas')}"
        yield 2, "Template:"
        yield from _template(fields.mapping(task, "template"))


def _template(template: Object) -> Iterator[Line]:
    yield 3, "Metadata:"
    yield 4, "Annotations:"
    for label, key in _TEMPLATE_ANNOTATIONS:
        yield 5, f"{label}\t{fields.text(fields.annotations_of(template), key)}"
    yield 4, f"Creation Timestamp:\t{times.stamp(fields.text(template, 'metadata', 'creationTimestamp'))}"
    yield 3, "Spec:"
    yield 4, "Containers:"
    for container in fields.items(template, "spec", "containers"):
        yield from _container(container)
    yield 4, "Image Pull Secrets:"
    for secret in fields.items(template, "spec", "imagePullSecrets"):
        yield 5, f"Name:     \t{fields.text(secret, 'name')}"
    yield 4, f"Restart Policy:   \t{fields.text(template, 'spec', 'restartPolicy')}"


def _container(container: Object) -> Iterator[Line]:
    yield 5, "Command:"
    for word in fields.texts(container, "command"):
        yield 6, word
    yield 5, f"Image:\t{fields.text(container, 'image')}"
    yield 5, f"Name: \t{fields.text(container, 'name')}"
    yield 5, "Ports:"
    for port in fields.items(container, "ports"):
        yield 6, f"Container Port:\t{fields.number(port, 'containerPort')}"
        yield 6, f"Name:          \t{fields.text(port, 'name')}"
    yield 5, "Resources:"
    for title, key in (("Limits:", "limits"), ("Requests:", "requests")):
        yield 6, title
        yield 7, f"Cpu:   \t{_amount(container, key, 'cpu')}"
        yield 7, f"Memory:\t{_amount(container, key, 'memory')}"
    yield 6, f"Working Dir:\t{fields.text(container, 'workingDir')}"


def _status(status: Object, *, has_conditions: bool) -> Iterator[Line]:
    yield 0, "Status:"
    for label, key in _COUNTERS:
        if fields.number(status, key) > 0:
            yield 1, f"{label}\t{fields.number(status, key)}"
    yield 1, "State:"
    yield 2, f"Phase:\t{fields.text(status, 'state', 'phase')}"
    if resources := fields.mapping(status, "controlledResources"):
        yield 1, "Controlled Resources:"
        for key in sorted(resources):
            yield 2, f"{key}: \t{fields.text(resources, key)}"
    conditions = fields.items(status, "conditions")
    if conditions and has_conditions:
        yield 1, "Conditions:"
        yield 2, "Status\tTransitionTime"
        for condition in conditions:
            entered = times.stamp(fields.text(condition, "lastTransitionTime"))
            yield 2, f"{fields.text(condition, 'status')} \t{entered} "


def _wide(job: Object) -> Iterator[Line]:
    """What the traditional description leaves out, behind it."""
    spec = fields.mapping(job, "spec")
    yield 0, "More:"
    for label, key in (
        ("Queue:         ", "queue"),
        ("Priority Class:", "priorityClassName"),
        ("Max Retry:     ", "maxRetry"),
    ):
        yield 1, f"{label}\t{fields.text(spec, key)}"
    for plugin, arguments in sorted(fields.mapping(spec, "plugins").items()):
        yield 1, f"Plugin {plugin}:\t{_list(arguments if isinstance(arguments, list) else [])}"
    yield from _policies(1, spec)
    for task in fields.items(spec, "tasks"):
        yield 1, f"Task {fields.text(task, 'name')}:"
        if depends := fields.texts(task, "dependsOn", "name"):
            yield 2, f"Depends On:\t{_list(depends)}"
        yield from _policies(2, task)
        pod = fields.mapping(task, "template", "spec")
        for container in fields.items(pod, "initContainers"):
            yield 2, f"Init Container:\t{fields.text(container, 'name')} {fields.text(container, 'image')}"
        for container in fields.items(pod, "containers"):
            if arguments := fields.texts(container, "args"):
                yield 2, f"Args of {fields.text(container, 'name')}:\t{_list(arguments)}"
        for volume in fields.items(pod, "volumes"):
            sources = sorted(key for key in volume if key != "name")
            yield 2, f"Volume:\t{fields.text(volume, 'name')} {' '.join(sources)}"


def _policies(level: int, holder: Object) -> Iterator[Line]:
    for policy in fields.items(holder, "policies"):
        events = fields.texts(policy, "events") or [fields.text(policy, "event")]
        code = fields.value(policy, "exitCode")
        trigger = f"exit code {code}" if code is not None else ",".join(filter(None, events))
        yield level, f"Policy:\t{trigger} -> {fields.text(policy, 'action')}"


def _map(values: Object) -> str:
    """Compact JSON with sorted keys; the characters that matter in HTML are escaped, as the original tool does."""
    if not values:
        return NONE
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _list(values: list[str]) -> str:
    return f"[{' '.join(values)}]"


def _amount(container: Object, key: str, resource: str) -> str:
    """An amount in its canonical form, 0 when there is none."""
    from runtime import quantity  # noqa: PLC0415  # only this command shows amounts

    found = fields.value(container, "resources", key, resource)
    if not isinstance(found, str | int | float):
        return "0"
    try:
        return quantity.canonical(found)
    except quantity.QuantityError:
        return str(found)
