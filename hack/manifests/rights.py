"""The rights of all processes as a page for people, from the same rules as the roles."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.output import first_line
from hack.manifests.components import Components, Declared
from hack.manifests.roles import COMMAND
from runtime.rbac import Rule, join

FOLDER = "docs/reference"
FILE = f"{FOLDER}/rights.md"
_HEAD = """
# Rights

What each process may do in the API, and no more: its ClusterRole holds in every namespace, its Role in `volcano-system`.
The rules stand beside the code that needs them, so a right that no code asks for can't be in here.
"""
_TITLES = {
    "scheduler": "`vc-scheduler`, account `volcano-scheduler`",
    "controllers": "`vc-controller-manager`, account `volcano-controllers`",
    "admission": "`vc-webhook-manager`, account `volcano-admission`",
    "hypernode": "`vc-hypernode-controller-manager`, account `volcano-hypernode-controller` (component `hypernode` only)",
    "agent_scheduler": "`vc-agent-scheduler`, account `volcano-agent-scheduler` (component `agent-scheduler` only)",
}


def files(components: Components) -> dict[str, str]:
    """Text by path of the page."""
    sections = [section for name, title in _TITLES.items() for section in _section(title, getattr(components, name))]
    return {FILE: first_line(".md", "the rules declared in the components", COMMAND) + _HEAD + "\n".join(sections)}


def _section(title: str, declared: Declared) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield "| where | group | resources | only those named | verbs |\n|---|---|---|---|---|"
    for where, rules in (("everywhere", declared.everywhere), ("at home", declared.at_home)):
        yield from (_row(where, rule) for rule in join(rules))


def _row(where: str, rule: Rule) -> str:
    named = ", ".join(f"`{name}`" for name in rule.names)
    return f"| {where} | {rule.group or 'core'} | {', '.join(rule.resources)} | {named} | {', '.join(rule.verbs)} |"
