"""
Completion scripts for shells.

The scripts are thin: they hand the words of the line to `vcctl __complete` and show what it prints (`cli.candidates`), so
that they never grow stale.
"""

from __future__ import annotations

from collections.abc import Sequence

from cli.candidates import SHELLS
from cli.context import Context
from cli.errors import CommandError
from cli.program import ASKING

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


def run(context: Context) -> None:
    """Print the script for one shell. Raises CommandError."""
    context.out.write(script(context.command.path[0], context.flags.words))


def script(program: str, words: Sequence[str]) -> str:
    """The script for the shell that the words name. Raises CommandError."""
    if len(words) != 1 or words[0] not in _SCRIPTS:
        given = f'"{" ".join(words)}"' if words else "none"
        raise CommandError(f"completion: which shell? {given} given, there are {', '.join(SHELLS)}")
    return _SCRIPTS[words[0]].format(program=program, asking=ASKING)
