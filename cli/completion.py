"""
Completion scripts for shells, and the hidden command that they ask.

The scripts are thin: they hand the words of the line to `vcctl __complete` and show what it prints, so that they never
grow stale. Names of objects are asked from the server, briefly, and a server that doesn't answer completes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cli import fields, phases
from cli.commands import Command, find, global_flags
from cli.context import Context
from cli.errors import CommandError, UsageError
from cli.flags import BOOL, Flag
from cli.program import ASKING

SHELLS = ("bash", "zsh", "fish", "powershell")

_BASH = """# completion of {program} for bash: source <({program} completion bash)
_{program}_complete() {{
    local IFS=$'\\n'
    COMPREPLY=($("${{COMP_WORDS[0]}}" {asking} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -F _{program}_complete {program}
"""
_ZSH = """#compdef {program}
# completion of {program} for zsh: source <({program} completion zsh)
_{program}_complete() {{
    local -a found
    found=("${{(@f)$(${{words[1]}} {asking} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    compadd -- $found
}}
compdef _{program}_complete {program}
"""
_FISH = """# completion of {program} for fish: {program} completion fish | source
function __{program}_complete
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    {program} {asking} $words 2>/dev/null
end
complete -c {program} -f -a '(__{program}_complete)'
"""
_POWERSHELL = """# completion of {program} for PowerShell: {program} completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName {program} -ScriptBlock {{
    param($word, $line, $position)
    $words = @($line.CommandElements | Select-Object -Skip 1 | ForEach-Object {{ $_.ToString() }})
    if ($word -eq '') {{ $words += '' }}
    {program} {asking} @words 2>$null | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }}
}}
"""
_SCRIPTS = dict(zip(SHELLS, (_BASH, _ZSH, _FISH, _POWERSHELL), strict=True))
_WORDS = {"output": ("json", "name", "wide", "yaml"), "format": ("json", "yaml"), "action": ("close", "open", "update")}
_PHASES = {"jobflow": phases.JOB_FLOW, "pod": phases.POD, "podgroup": phases.POD_GROUP}
_NAMED = {"job": "JOBS", "jobflow": "JOB_FLOWS", "jobtemplate": "JOB_TEMPLATES", "queue": "QUEUES"}
_NAMED |= {"cronjob": "CRON_JOBS", "podgroup": "POD_GROUPS"}


def run(context: Context) -> None:
    """Print the script for one shell. Raises CommandError."""
    context.out.write(script(context.command.path[0], context.flags.words))


def script(program: str, words: Sequence[str]) -> str:
    """The script for the shell that the words name. Raises CommandError."""
    if len(words) != 1 or words[0] not in _SCRIPTS:
        given = f'"{" ".join(words)}"' if words else "none"
        raise CommandError(f"completion: which shell? {given} given, there are {', '.join(SHELLS)}")
    return _SCRIPTS[words[0]].format(program=program, asking=ASKING)


def candidates(root: Command, words: Sequence[str], context: Context) -> list[str]:
    """Commands, flags or values that begin as the last word does."""
    *before, last = words or ("",)
    try:
        command, rest = find(root, before)
    except UsageError:
        return []
    flags = (*command.flags(), *global_flags())
    waiting = _waiting_flag(flags, rest)
    if waiting is not None:
        return _beginning(_values(command, waiting, context), last)
    if last.startswith("-"):
        return _beginning((f"--{flag.name}" for flag in flags), last)
    return _beginning((child.name for child in command.children if not child.name.startswith("_")), last)


def _waiting_flag(flags: Iterable[Flag], words: Sequence[str]) -> Flag | None:
    """The flag whose value comes next, if any."""
    if not words or not words[-1].startswith("-") or "=" in words[-1]:
        return None
    named = (flag for flag in flags if words[-1] in (f"--{flag.name}", f"-{flag.short}"))
    found = next(named, None)
    return found if found is not None and found.kind != BOOL else None


def _values(command: Command, flag: Flag, context: Context) -> list[str]:
    if flag.name in _WORDS:
        return list(_WORDS[flag.name])
    group = command.parent.name if command.parent else ""
    if flag.name == "phase":
        return list(_PHASES.get(group, phases.JOB))
    if flag.name == "name" and group in _NAMED:
        return _names(_NAMED[group], context)
    if flag.name == "queue":
        return _names("QUEUES", context)
    return []


def _names(kind: str, context: Context) -> list[str]:
    """Names of objects in the namespace; none when the server can't be asked."""
    from cli import kinds  # noqa: PLC0415  # commands and flags are completed without the client
    from runtime.errors import ApiError, ConfigError, ConnectionFailed, DecodeError  # noqa: PLC0415  # as above

    try:
        resource = getattr(kinds, kind)
        page = context.client.list_page(resource, "default" if resource.namespaced else None)
    except (ApiError, ConfigError, ConnectionFailed, DecodeError):
        return []
    return [fields.name(obj) for obj in page.items]


def _beginning(words: Iterable[str], start: str) -> list[str]:
    return sorted(word for word in words if word.startswith(start))
