"""`vcctl job run`: a job from flags, or jobs from a file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from cli import fields, output
from cli.context import Context
from cli.documents import STDIN, parse_all, read_text
from cli.errors import CommandError, Unfinished
from cli.kinds import JOBS, Object
from cli.quantities import resource_list
from cli.requesting import create_object, dry_run

JOB_LABEL = "job.volcano.sh"
_SUFFIXES = (".yaml", ".yml", ".json")
_DEFAULT_NAMESPACE = "default"


def run(context: Context) -> None:
    """Create the job that the flags describe, or every job of `--filename`."""
    context.require_configuration()
    flags = context.flags
    if not flags.text("name") and not flags.text("filename"):
        raise CommandError("job name cannot be left blank")
    requests, limits = resource_list(flags.text("requests")), resource_list(flags.text("limits"))
    dry_run(context)
    output.output_format(context)
    if flags.text("filename"):
        _run_file(context, flags.text("filename"))
    else:
        submit(context, context.namespace, build(context, requests, limits, context.namespace), context.namespace)


def submit(context: Context, namespace: str, job: Object, shown_namespace: str) -> None:
    """Create one job and say so. Raises ApiError."""
    if not namespace:
        raise CommandError("an empty namespace may not be set during creation")
    mode = dry_run(context)
    wanted = output.output_format(context)
    if mode == "client":
        stored = {**job, "metadata": {**fields.mapping(job, "metadata"), "namespace": shown_namespace}}
    else:
        strict = context.flags.is_on("strict")
        stored = create_object(context, JOBS, job, namespace, dry_run=mode == "server", strict=strict)
    if wanted:
        output.print_object(context, JOBS, stored, wanted if wanted != output.WIDE else output.YAML)
    else:
        note = "" if mode == "none" else f" ({'dry run' if mode == 'client' else 'server dry run'})"
        context.print(f"run job {fields.name(stored)} successfully{note}")


def build(
    context: Context,
    requests: dict[str, str],
    limits: dict[str, str],
    namespace: str,
    *,
    image: str | None = None,
    scheduler: str | None = None,
) -> Object:
    """The job of the flags: one task without a name, one container called like the job. Raises CommandError."""
    flags = context.flags
    name = flags.text("name")
    container: Object = {
        "name": name,
        "image": flags.text("image") if image is None else image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {key: amounts for key, amounts in (("limits", limits), ("requests", requests)) if amounts},
    }
    if command := split_command(flags.text("command")):
        container["command"] = command
    if env := [_variable(text) for text in flags.texts("env")]:
        container["env"] = env
    spec: Object = {
        "minAvailable": flags.number("min"),
        "schedulerName": flags.text("scheduler") if scheduler is None else scheduler,
        "tasks": [
            {
                "replicas": flags.number("replicas"),
                "template": {
                    "metadata": {"name": name, "labels": {JOB_LABEL: name}},
                    "spec": {"restartPolicy": "Never", "containers": [container]},
                },
            }
        ],
    }
    extras = {"queue": flags.text("queue"), "priorityClassName": flags.text("priority-class")}
    spec |= {key: value for key, value in extras.items() if value}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def split_command(text: str) -> list[str]:
    """The words of a command, with the quotes of a shell and `#` comments. Raises CommandError when a quote stays open."""
    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        is_quote = "quotation" in str(error)
        problem = "EOF found when expecting closing quote" if is_quote else "EOF found after escape character"
        raise CommandError(problem) from error


def _variable(text: str) -> dict[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise CommandError(f'--env: "{text}" is not NAME=value')
    return {"name": name, "value": value}


def _run_file(context: Context, path: str) -> None:
    """Every job of a file; when some fail, the others are still tried."""
    jobs = list(parse_all(_text_of(path)))
    if not jobs:
        raise CommandError(f"{path}: no job in this file")
    if len(jobs) > 1 and context.flags.text("name"):
        raise CommandError(f"--name: {path} holds {len(jobs)} jobs, the name can be given for one only")
    errors = list(_failures(context, jobs))
    if len(jobs) == 1 and errors:
        raise errors[0]
    for error in errors:
        context.failures.write(f"Failed to {context.command.reversed_path}: {error}\n")
    if errors:
        raise Unfinished


def _text_of(path: str) -> str:
    if path != STDIN and not any(suffix in path for suffix in _SUFFIXES):
        raise CommandError(f"only support yaml file: {path} has none of {', '.join(_SUFFIXES)} in its name")
    try:
        return read_text(path)
    except OSError as error:
        raise CommandError(
            f"failed to read file, err: open {path}: {(error.strerror or str(error)).lower()}"
        ) from error


def _failures(context: Context, jobs: Iterable[Any]) -> Iterable[Exception]:
    from runtime.errors import ApiError  # noqa: PLC0415  # the client has loaded it by now

    for value in jobs:
        try:
            job = _checked(value)
            namespace = _place(context, job)
            submit(context, namespace, job, namespace)
        except (CommandError, ApiError) as error:
            yield error


def _checked(job: Any) -> Object:
    if isinstance(job, ValueError):
        raise CommandError(f"failed to unmarshal file, err:  {job}") from job
    if not isinstance(job, dict) or not isinstance(job.get("metadata") or {}, dict):
        raise CommandError("failed to unmarshal file, err:  expected a Job, got no object with metadata")
    named, version = fields.text(job, "kind"), fields.text(job, "apiVersion")
    if (named or JOBS.kind) != JOBS.kind or (version or JOBS.api_version) != JOBS.api_version:
        raise CommandError(
            f"expected {JOBS.kind} of {JOBS.api_version}, got {named or 'no kind'} of {version or 'no apiVersion'}"
        )
    return job


def _place(context: Context, job: Object) -> str:
    """Put the name and the namespace of the flags into the job; gives the namespace that counts."""
    metadata = dict(fields.mapping(job, "metadata"))
    given = context.flags.is_given("namespace")
    namespace = context.namespace if given else fields.text(metadata, "namespace") or context.namespace
    metadata["namespace"] = namespace or _DEFAULT_NAMESPACE
    if context.flags.text("name"):
        metadata["name"] = context.flags.text("name")
    job["metadata"] = metadata
    if not fields.text(metadata, "name") and not fields.text(metadata, "generateName"):
        raise CommandError("the job has no metadata.name: name it in the file or by --name")
    return str(metadata["namespace"])
