"""
`vcctl job explain`: why a job waits.

The scheduler knows best: its answer is asked for through the API server. Without it, the conditions of the PodGroup and
the pods, the state of the queue and the events tell what they can.
"""

from __future__ import annotations

from collections.abc import Iterator

from api import names
from api.explanations import is_explanation, lines
from cli import fields, output
from cli.context import Context
from cli.errors import CommandError
from cli.explainpriority import class_lines, missing_classes
from cli.explainsource import ask, direct_address
from cli.explaintasks import OVER, gather_tasks, task_lines
from cli.jobevents import event_lines
from cli.joblist import phase
from cli.kinds import JOBS, POD_GROUPS, QUEUES, Object
from cli.outline import outline
from cli.requesting import get_object, list_objects
from runtime.errors import ApiError, Forbidden, NotFound

_FINISHED = "gone with the job's end: the job has finished, nothing waits"
_ENDING = "gone: the job is ending, its pods are being removed and nothing waits for a place"
_NO_GROUP_YET = "none yet: the job controller makes it, look whether vc-controller-manager runs"
_WITHOUT_GROUP = {
    "Completed": _FINISHED,
    "Failed": _FINISHED,
    "Terminated": _FINISHED,
    "Completing": _ENDING,
    "Terminating": _ENDING,
    "Aborting": _ENDING,
    "Aborted": "gone: the job is aborted, nothing waits until it is resumed (vcctl job resume)",
    "Restarting": "gone: the job restarts, its pods of before are being removed; the controller then makes another",
}
"""What it means that a job has no PodGroup, by the job's phase."""
_State = names.JobStateMessage
_NOT_LET_IN = frozenset(("", "Pending"))
"""Phases of a PodGroup of which no pods are made yet."""
_QUOTA = (("Allocated", "status", "allocated"), ("Deserved", "spec", "deserved"), ("Capability", "spec", "capability"))


def run(context: Context) -> None:
    """Explain one job. What may not be read is said and left out."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("job name (specified by --name or -N) is mandatory to explain a particular job")
    wanted = output.output_format(context)
    direct_address(context)
    job = get_object(context, JOBS, name, context.namespace)
    found = gather(context, job)
    if wanted == output.NAME:
        context.print(output.resource_name(JOBS, job))
    elif wanted == output.JSON:
        context.out.write(output.to_json(found))
    elif wanted == output.YAML:
        context.out.write(output.to_yaml(found))
    else:
        context.print_lines(describe(found))
        context.print_lines(event_lines(context, job))


def gather(context: Context, job: Object) -> Object:
    """
    All that is known: job, podGroup, queue, tasks, priority classes that don't exist, and the scheduler's own answer.

    Each is there only where there is one.
    """
    found: Object = {"job": _head(job), "tasks": gather_tasks(context, job)}
    try:
        group = _group(context, job)
    except Forbidden as error:
        group = None
        found["podGroup"] = {"problem": str(error)}
    if group is not None:
        found["podGroup"] = {**_head(group), **fields.mapping(group, "spec"), "status": fields.mapping(group, "status")}
        if not context.flags.is_on("no-scheduler"):
            answer = ask(context, fields.namespace(group), fields.name(group))
            found["scheduler" if answer.problem == "" else "schedulerProblem"] = answer.problem or answer.content
    queue_name = fields.text(group, "spec", "queue") or fields.text(job, "spec", "queue") or names.DEFAULT_QUEUE
    found["queue"] = _queue(context, queue_name)
    if phase(job) not in OVER and (missing := missing_classes(context, job)):
        found["missingPriorityClasses"] = missing
    return found


def describe(found: Object) -> Iterator[str]:
    """The lines for people."""
    job, group, queue = (fields.mapping(found, key) for key in ("job", "podGroup", "queue"))
    yield f"Job:       {fields.text(job, 'namespace')}/{fields.text(job, 'name')}"
    reason = ": ".join(filter(None, (fields.text(job, "reason"), _message(job, group))))
    yield f"Phase:     {fields.text(job, 'phase') or 'none yet'}{f' ({reason})' if reason else ''}"
    yield from _group_lines(group, fields.text(job, "phase"))
    yield from _queue_lines(queue)
    yield from class_lines(fields.items(found, "missingPriorityClasses"))
    yield from task_lines(fields.items(found, "tasks"), group)
    if "scheduler" in found:
        yield "Scheduler:"
        answer = found["scheduler"]
        yield from (f"  {line}" for line in (lines(answer) if is_explanation(answer) else outline(answer)))
    elif problem := fields.text(found, "schedulerProblem"):
        yield f"Scheduler: no answer ({problem}); this is what conditions and events tell"


def _message(job: Object, group: Object) -> str:
    """What the job's status says of its phase: as long as its pods can't be made, the controller leaves that as it is."""
    message = fields.text(job, "message")
    is_let_in = fields.text(group, "status", "phase") not in _NOT_LET_IN
    return _State.ADMITTED if is_let_in and message == _State.WAITS_FOR_ADMISSION else message


def _group_lines(group: Object, phase_of_job: str) -> Iterator[str]:
    if not group:
        yield f"PodGroup:  {_WITHOUT_GROUP.get(phase_of_job, _NO_GROUP_YET)}"
        return
    if problem := fields.text(group, "problem"):
        yield f"PodGroup:  {problem}"
        return
    status = fields.mapping(group, "status")
    yield (
        f"PodGroup:  {fields.text(group, 'name')}: {fields.text(status, 'phase') or 'no phase yet'},"
        f" {fields.number(group, 'minMember')} pods needed, {fields.number(status, 'running')} running"
    )
    for condition in fields.items(status, "conditions"):
        state = "" if fields.text(condition, "status") == "True" else f" is {fields.text(condition, 'status')}"
        words = filter(None, (fields.text(condition, "reason"), fields.text(condition, "message")))
        yield f"  {fields.text(condition, 'type')}{state}: {': '.join(words)}"


def _queue_lines(queue: Object) -> Iterator[str]:
    name = fields.text(queue, "name")
    if problem := fields.text(queue, "problem"):
        yield f"Queue:     {name}: {problem}"
        return
    yield f"Queue:     {name}: {fields.text(queue, 'state') or 'no state yet'}, weight {fields.number(queue, 'weight')}"
    for title, _, key in _QUOTA:
        if amounts := fields.mapping(queue, key):
            shown = ", ".join(f"{resource} {fields.text(amounts, resource)}" for resource in sorted(amounts))
            yield f"  {title + ':':<11} {shown}"


def _head(obj: Object) -> Object:
    state = fields.mapping(obj, "status", "state")
    head = {"namespace": fields.namespace(obj), "name": fields.name(obj), "phase": phase(obj)}
    head |= {key: fields.text(state, key) for key in ("reason", "message")}
    return {key: value for key, value in head.items() if value}


def _group(context: Context, job: Object) -> Object | None:
    """The job's PodGroup, by its usual name or by its owner. Raises ApiError."""
    namespace, uid = fields.namespace(job), fields.text(job, "metadata", "uid")
    try:
        return get_object(context, POD_GROUPS, names.pod_group_name(fields.name(job), uid), namespace)
    except NotFound:
        groups, _ = list_objects(context, POD_GROUPS, namespace)
    owned = (
        group
        for group in groups
        if any(fields.text(owner, "uid") == uid for owner in fields.items(group, "metadata", "ownerReferences"))
    )
    return next(owned, None)


def _queue(context: Context, name: str) -> Object:
    try:
        queue = get_object(context, QUEUES, name)
    except NotFound:
        return {"name": name, "problem": f'there is no queue "{name}": create it, or put the job into another'}
    except ApiError as error:
        return {"name": name, "problem": str(error)}
    shown: Object = {"name": name, "state": fields.text(queue, "status", "state")}
    shown["weight"] = fields.number(queue, "spec", "weight")
    shown |= {key: fields.mapping(queue, part, key) for _, part, key in _QUOTA}
    return shown
