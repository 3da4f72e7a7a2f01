"""
The groups of flags that commands share.

Letters differ by tradition: in `vcctl job`, `jobflow` and `jobtemplate` `-n` is the namespace and `-N` the name, in
`vcctl queue` `-n` is the name, in the short commands `-n` is the name and `-N` the namespace (compat: CLI-1).
"""

from __future__ import annotations

from functools import cache

from cli.flags import BOOL, DURATION, INT, INT32, STRING, STRINGS, Flag


@cache
def connection() -> tuple[Flag, ...]:
    """How to reach the API server. One set for all commands."""
    return (
        Flag("kubeconfig", "k", STRING, "(optional) absolute path to the kubeconfig file"),
        Flag("master", "s", STRING, "the address of apiserver"),
        Flag("context", "", STRING, "context of the kubeconfig to use", hidden=True),
        Flag("cluster", "", STRING, "cluster of the kubeconfig to use", hidden=True),
        Flag("user", "", STRING, "user of the kubeconfig to use", hidden=True),
        Flag("token", "", STRING, "bearer token for the API server", hidden=True),
        Flag("as", "", STRING, "user to act as", hidden=True),
        Flag("as-group", "", STRINGS, "group to act as, may be repeated", hidden=True),
        Flag("insecure-skip-tls-verify", "", BOOL, "trust any certificate of the server", hidden=True),
        Flag("request-timeout", "", DURATION, "how long to wait for an answer, 0 for the default", hidden=True),
    )


def namespace(of: str, short: str = "n", default: str = "default") -> Flag:
    return Flag("namespace", short, STRING, f"the namespace of {of}", default)


def name(of: str, short: str = "N") -> Flag:
    return Flag("name", short, STRING, f"the name of {of}")


def all_namespaces(of: str) -> Flag:
    return Flag("all-namespaces", "", BOOL, f"list {of} in all namespaces")


def output() -> Flag:
    return Flag("output", "o", STRING, "output format: json, yaml, name or wide", hidden=True)


def listing(*, phases: bool = True) -> tuple[Flag, ...]:
    """What every list takes beside its own filters."""
    chosen = (Flag("phase", "", STRING, "show only those in these phases, comma separated", hidden=True),)
    return (
        output(),
        Flag("watch", "w", BOOL, "go on showing changes", hidden=True),
        Flag("label-selector", "l", STRING, "show only those whose labels match", hidden=True),
        Flag("sort-by", "", STRING, "field to sort by, such as .metadata.creationTimestamp", hidden=True),
        *(chosen if phases else ()),
    )


def confirming() -> tuple[Flag, ...]:
    """For commands that say nothing when they succeed."""
    return (output(), Flag("verbose", "", BOOL, "say what was done", hidden=True))


def waiting() -> tuple[Flag, ...]:
    """For commands whose effect comes later."""
    return (
        Flag("wait", "", BOOL, "wait until it has happened", hidden=True),
        Flag("timeout", "", DURATION, "how long to wait, 0 for ever", 60.0, hidden=True),
    )


def quota() -> tuple[Flag, ...]:
    """Fields of a queue beyond its weight."""
    return (
        Flag("capability", "", STRING, "resources that the queue can never exceed, as cpu=4,memory=8Gi", hidden=True),
        Flag("deserved", "", STRING, "resources that the queue can win back from others", hidden=True),
        Flag("guarantee", "", STRING, "resources held free for the queue", hidden=True),
        Flag("parent", "", STRING, "queue that this one is part of", hidden=True),
        Flag("reclaimable", "", BOOL, "whether others may win back what the queue uses beyond its share", hidden=True),
        Flag("priority", "", INT32, "queues of higher priority are served first", hidden=True),
    )


def job_building() -> tuple[Flag, ...]:
    """What a job that is built from flags takes, beside name, namespace, image and scheduler."""
    resources = "cpu=1000m,memory=100Mi"
    return (
        Flag("min", "m", INT, "the minimal available tasks of job", 1),
        Flag("replicas", "r", INT, "the total tasks of job", 1),
        Flag("requests", "R", STRING, "the resource request of the task", resources),
        Flag("limits", "L", STRING, "the resource limit of the task", resources),
    )


def job_extras() -> tuple[Flag, ...]:
    """The same, as far as the original tool lacks it."""
    return (
        Flag("queue", "", STRING, "the queue of the job", hidden=True),
        Flag("priority-class", "", STRING, "the priority class of the job", hidden=True),
        Flag("env", "", STRINGS, "a variable of the container, NAME=value, may be repeated", hidden=True),
        Flag("dry-run", "", STRING, "none, client (print only) or server (check only)", hidden=True),
        Flag("strict", "", BOOL, "refuse fields that the server does not know", hidden=True),
        output(),
    )
