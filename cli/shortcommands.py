"""`vsub` and `vjobs`; the other short commands are those of vcctl under another name."""

from __future__ import annotations

from api.names import CliEnv
from cli import joblist, jobview
from cli.context import Context
from cli.errors import CommandError
from cli.jobrun import build, submit
from cli.quantities import resource_list
from cli.requesting import dry_run

_IMAGE, _NAMESPACE, _SCHEDULER = "busybox", "default", "volcano"


def vsub(context: Context) -> None:
    """Submit a job made from flags; the environment stands in for some of them."""
    context.require_configuration()
    flags = context.flags
    if not flags.text("name"):
        raise CommandError("job name cannot be left blank")
    requests, limits = resource_list(flags.text("requests")), resource_list(flags.text("limits"))
    dry_run(context)
    namespace = _setting(context, "namespace", CliEnv.JOB_NAMESPACE, _NAMESPACE)
    job = build(
        context,
        requests,
        limits,
        namespace,
        image=_setting(context, "image", CliEnv.IMAGE, _IMAGE),
        scheduler=_setting(context, "scheduler", CliEnv.SCHEDULER_NAME, _SCHEDULER),
    )
    submit(context, namespace, job, namespace)


def vjobs(context: Context) -> None:
    """One job in detail, or a list."""
    context.require_configuration()
    name = context.flags.text("name")
    if name:
        jobview.show(context, name, has_conditions=False)
    else:
        joblist.run(context)


def _setting(context: Context, flag: str, variable: str, built_in: str) -> str:
    """The flag, also an empty one, else the environment, else what is built in."""
    if context.flags.is_given(flag):
        return context.flags.text(flag)
    return context.environ.get(variable, "") or built_in
