"""What scaffolds ask of the project, and how they add to `api/project.yaml` and to the schemas."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from codegen.problems import hint
from codegen.project import Kind, Project, Webhook
from codegen.scaffold import yamledit
from codegen.scaffold.changes import Changes
from codegen.scaffold.errors import ScaffoldError
from codegen.source import PROJECT_FILE


def find_kind(project: Project, name: str, argument: str, group: str = "", version: str = "") -> Kind:
    """
    The kind of that name, of ours or of Kubernetes; `batch/v1/Job` names one of several.

    Raises ScaffoldError when there is none, or more than one.
    """
    *place, kind = name.split("/")
    wanted = "/".join(place)
    known = [*project.kinds, *project.external]
    found = [
        candidate
        for candidate in known
        if candidate.kind == kind
        and (not wanted or candidate.api_version == wanted)
        and (not group or group in {candidate.group, candidate.group_short})
        and (not version or candidate.version == version)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(f"{candidate.api_version}/{kind}" for candidate in found)
        raise ScaffoldError(argument, f"{name!r} is the name of several kinds: say which ({choices})")
    close = hint(kind, sorted({candidate.kind for candidate in known}))
    otherwise = " Otherwise `create api` makes one" if close else "; `create api` makes one"
    raise ScaffoldError(argument, f"{PROJECT_FILE} has no kind {name!r}{close}{otherwise}")


def taken_names(kinds: Iterable[Kind], group: str) -> dict[str, Kind]:
    """Every name under which objects of a group are addressed, and whose it is."""
    return {
        name: kind for kind in kinds if kind.group == group for name in (kind.plural, kind.singular, *kind.short_names)
    }


def add_kind(changes: Changes, entry: str) -> None:
    """A kind more in the project file."""
    text = changes.read(PROJECT_FILE, "--root")
    kinds = yamledit.child(yamledit.compose(text, PROJECT_FILE), "kinds")
    if not isinstance(kinds, yaml.SequenceNode) or kinds.flow_style or not kinds.value:
        raise ScaffoldError(
            PROJECT_FILE, "its `kinds` is no list of entries, each on lines of its own: add the entry by hand"
        )
    changes.edit(PROJECT_FILE, yamledit.append_item(text, kinds, entry))


def add_components(changes: Changes, path: str, components: str, head: str) -> None:
    """Schemas more in the file of a group version, which is made with `head` when it isn't there."""
    if not changes.exists(path):
        changes.create(path, f"{head}components:\n{_indented(components)}", "--group")
        return
    text = changes.read(path, "--group")
    found = yamledit.child(yamledit.compose(text, path), "components")
    if not isinstance(found, yaml.MappingNode) or found.flow_style or not found.value:
        raise ScaffoldError(path, "its `components` is no mapping with entries on lines of their own: add them by hand")
    changes.edit(path, yamledit.append_key(text, found, components, apart=True))


def set_webhook(changes: Changes, kind: Kind, action: str, entry: str) -> None:
    """
    A webhook more in the kind's entry, or the planned one no longer planned.

    Raises ScaffoldError for a kind that an extension brought: its file is the site's own.
    """
    if kind.file != PROJECT_FILE:
        raise ScaffoldError(
            "--kind", f"{kind.kind} stands in {kind.file}: add `webhooks` there by hand, then run again"
        )
    text = changes.read(PROJECT_FILE, "--kind")
    node = _entry(text, kind)
    hooks = yamledit.child(node, "webhooks")
    if not isinstance(hooks, yaml.MappingNode):
        line = f"webhooks: {{{action}: {entry}}}" if node.flow_style else f"webhooks:\n  {action}: {entry}"
        changes.edit(PROJECT_FILE, yamledit.append_key(text, node, line))
        return
    hook = yamledit.child(hooks, action)
    if not isinstance(hook, yaml.MappingNode):
        changes.edit(PROJECT_FILE, yamledit.append_key(text, hooks, f"{action}: {entry}"))
    elif yamledit.child(hook, "planned") is not None:
        changes.edit(PROJECT_FILE, yamledit.without_key(text, hook, "planned"))


def webhook_of(kind: Kind, action: str) -> Webhook | None:
    """The kind's webhook for `mutate` or `validate`."""
    return kind.mutate if action == "mutate" else kind.validate


def _entry(text: str, kind: Kind) -> yaml.MappingNode:
    document = yamledit.compose(text, PROJECT_FILE)
    section = yamledit.child(document, "external" if kind.external else "kinds")
    wanted = (kind.group, kind.version, kind.kind)
    keys = ("group", "version", "kind")
    return next(item for item in yamledit.items(section) if tuple(yamledit.scalar(item, key) for key in keys) == wanted)


def _indented(text: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))
