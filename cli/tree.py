"""All commands of `vcctl` and the short commands, as data. What the original tool lacks is hidden from help."""

from __future__ import annotations

from cli import flagsets as sets
from cli.commands import Command
from cli.flags import BOOL, INT, INT32, STRING, Flag


def root_of(program: str) -> Command:
    """The root command that a console script runs."""
    if program == "vcctl":
        return vcctl()
    from cli.shorttree import short_command  # noqa: PLC0415  # half of the start-up of either would be the other

    return short_command(program)


def vcctl() -> Command:
    groups = (_job(), _queue(), _flow("jobflow"), _flow("jobtemplate"), _pod(), _cronjob())
    return Command(
        "vcctl",
        "",
        children=(
            *groups,
            _podgroup(),
            _support(),
            Command("help", "Help about any command", run="cli.helping:run", takes_words="[command]", reads_words=True),
            Command(
                "version",
                "Print the version information",
                run="cli.build:run",
                flags=(
                    *_hidden_connection(),
                    Flag("server", "", BOOL, "also ask the API server and the components", hidden=True),
                    Flag("output", "o", STRING, "output format: json or yaml", hidden=True),
                ),
            ),
            Command(
                "completion",
                "print a completion script for bash, zsh, fish or powershell",
                run="cli.completion:run",
                takes_words="SHELL",
                reads_words=True,
                hidden=True,
            ),
        ),
    )


def _leaf(name: str, text: str, run: str, *flags: Flag, hidden: bool = False, takes_words: str = "") -> Command:
    return Command(name, text, run=run, flags=(*flags, *sets.connection()), hidden=hidden, takes_words=takes_words)


def _hidden_connection() -> tuple[Flag, ...]:
    """The flags of the connection for a command that the original tool runs without a server."""
    return tuple(
        Flag(flag.name, flag.short, flag.kind, flag.text, flag.default, hidden=True) for flag in sets.connection()
    )


def _job() -> Command:
    place = (sets.namespace("job"), sets.name("job"))
    run_flags = (
        Flag("filename", "f", STRING, "the yaml file of job"),
        Flag("image", "i", STRING, "the container image of job", "busybox"),
        Flag("scheduler", "S", STRING, "the scheduler for this job", "volcano"),
        Flag("command", "c", STRING, "the command of the container", hidden=True),
        *sets.job_building(),
        *sets.job_extras(),
        *place,
    )
    list_flags = (
        sets.namespace("job"),
        sets.all_namespaces("jobs"),
        Flag("queue", "q", STRING, "list job with specified queue name"),
        Flag("scheduler", "S", STRING, "list job with specified scheduler name"),
        Flag("selector", "", STRING, "fuzzy matching jobName"),
        Flag("for", "", STRING, "list the jobs of jobflow/NAME", hidden=True),
        *sets.listing(),
    )
    log_flags = (
        Flag("task", "t", STRING, "only pods of this task"),
        Flag("container", "c", STRING, "container to read, the first one when not given"),
        Flag("follow", "f", BOOL, "go on reading; the job must have one matching pod"),
        Flag("previous", "p", BOOL, "of the container's previous run"),
        Flag("tail", "", INT, "how many lines from the end, all when below 0", -1),
    )
    explain_flags = (
        Flag("scheduler-namespace", "", STRING, "namespace of the scheduler", "volcano-system"),
        Flag("scheduler-service", "", STRING, "service in front of the scheduler", "volcano-scheduler-service"),
        Flag("scheduler-port", "", INT, "port of its metrics", 8080),
        Flag("scheduler-url", "", STRING, "address of its metrics, to ask it without the API server"),
        Flag("no-scheduler", "", BOOL, "tell from conditions and events only"),
        sets.output(),
    )
    changing = (*place, *sets.confirming(), *sets.waiting())
    return Command(
        "job",
        "vcctl command line operation job",
        children=(
            _leaf("run", "run job by parameters from the command line", "cli.jobrun:run", *run_flags),
            _leaf("list", "list job information", "cli.joblist:run", *list_flags),
            _leaf("view", "show job information", "cli.jobview:run", *place, sets.output()),
            _leaf("suspend", "abort a job", "cli.job:suspend", *changing),
            _leaf("resume", "resume a job", "cli.job:resume", *changing),
            _leaf("delete", "delete a job", "cli.job:delete", *place, *sets.waiting()),
            _leaf("explain", "tell why a job waits", "cli.explain:run", *place, *explain_flags, hidden=True),
            _leaf("logs", "print the logs of a job's pods", "cli.joblogs:run", *place, *log_flags, hidden=True),
        ),
    )


def _queue() -> Command:
    name = sets.name("queue", "n")
    create = (
        Flag("name", "n", STRING, "the name of queue", "test"),
        Flag("weight", "w", INT32, "the weight of the queue", 1),
        Flag("state", "S", STRING, "the state of queue", "Open"),
    )
    operate = (
        name,
        Flag("weight", "w", INT32, "the weight of the queue"),
        Flag("action", "a", STRING, "operate action to queue, valid actions are open, close, update"),
    )
    tree = (
        name,
        Flag("resources", "", BOOL, "show what is allocated beside what is deserved and allowed"),
        sets.output(),
    )
    return Command(
        "queue",
        "Queue Operations",
        children=(
            _leaf("create", "creates queue", "cli.queue:create", *create, *sets.quota(), *sets.confirming()),
            _leaf("delete", "delete queue", "cli.queue:delete", name, *sets.confirming(), takes_words="queue"),
            _leaf(
                "operate",
                "operate queue",
                "cli.queue:operate",
                *operate,
                *sets.quota(),
                *sets.confirming(),
                *sets.waiting(),
                takes_words="queue",
            ),
            _leaf("list", "lists all the queue", "cli.queuelist:list_all", *sets.listing(phases=False)),
            _leaf("get", "get a queue", "cli.queuelist:get", name, sets.output()),
            _leaf("tree", "show queues below their parents", "cli.queuetree:run", *tree, hidden=True),
        ),
    )


def _flow(group: str) -> Command:
    place = (sets.namespace(group), sets.name(group))
    file = Flag("file", "f", STRING, f"the path to the YAML file containing the {group}")
    everywhere = (sets.all_namespaces(f"{group}s"),) if group == "jobflow" else ()
    form = Flag("format", "o", STRING, "the format of output", "yaml")
    module = f"cli.{group}"
    phases = group == "jobflow"
    return Command(
        group,
        f"vcctl command line operation {group}",
        children=(
            _leaf("create", f"create a {group}", f"{module}:create", file),
            _leaf(
                "list",
                f"list {group}s",
                f"{module}:list_all",
                sets.namespace(group),
                *everywhere,
                *sets.listing(phases=phases),
            ),
            _leaf("get", f"get a {group}", f"{module}:get", *place, sets.output()),
            _leaf("describe", f"describe a {group}", f"{module}:describe", *place, form),
            _leaf("delete", f"delete a {group}", f"{module}:delete", *place, file),
        ),
    )


def _pod() -> Command:
    flags = (
        sets.namespace("pod"),
        sets.all_namespaces("pods"),
        Flag("job", "j", STRING, "list pod with specified job name"),
        Flag("queue", "q", STRING, "list pod with specified queue name"),
        Flag("for", "", STRING, "list the pods of vcjob/NAME", hidden=True),
        *sets.listing(),
    )
    listing = _leaf("list", "list pod information created by vcjob", "cli.pod:run", *flags)
    return Command("pod", "vcctl command line operation pod", children=(listing,))


def _cronjob() -> Command:
    place = (sets.namespace("cronjob"), sets.name("cronjob"))
    everywhere = (sets.namespace("cronjob"), sets.all_namespaces("cronjobs"), *sets.listing(phases=False))
    return Command(
        "cronjob",
        "vcctl command line operation cronjob",
        hidden=True,
        children=(
            _leaf("list", "list cronjobs", "cli.cronjob:list_all", *everywhere),
            _leaf("get", "get a cronjob", "cli.cronjob:get", *place, sets.output()),
            _leaf("suspend", "start no new runs", "cli.cronjob:suspend", *place, *sets.confirming()),
            _leaf("resume", "start new runs again", "cli.cronjob:resume", *place, *sets.confirming()),
            _leaf("trigger", "start a run now", "cli.cronjob:trigger", *place, sets.output()),
            _leaf("delete", "delete a cronjob", "cli.cronjob:delete", *place),
        ),
    )


def _podgroup() -> Command:
    everywhere = (sets.namespace("podgroup"), sets.all_namespaces("podgroups"))
    queue = Flag("queue", "q", STRING, "list podgroups of this queue")
    return Command(
        "podgroup",
        "vcctl command line operation podgroup",
        hidden=True,
        children=(
            _leaf("list", "list podgroups", "cli.podgroup:list_all", *everywhere, queue, *sets.listing()),
            _leaf("get", "get a podgroup", "cli.podgroup:get", everywhere[0], sets.name("podgroup"), sets.output()),
        ),
    )


def _support() -> Command:
    flags = (
        Flag("output", "o", STRING, "archive to write, volcano-support-TIME.tar.gz when not given"),
        Flag("system-namespace", "", STRING, "namespace of the installation", "volcano-system"),
        Flag("scheduler-url", "", STRING, "address of the scheduler's metrics, where it runs outside the cluster"),
        Flag("no-logs", "", BOOL, "leave out the logs of the installation"),
        Flag("no-snapshot", "", BOOL, "leave out the objects of the cluster"),
    )
    dump = _leaf("dump", "collect what a bug report needs, without secrets", "cli.support:dump", *flags)
    return Command("support", "help those who look for a fault", hidden=True, children=(dump,))
