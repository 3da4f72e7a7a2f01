"""What is installed in a cluster: the API server's version and the images of the components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from api import names
from cli import fields
from cli.context import Context
from cli.kinds import DEPLOYMENTS, Object
from cli.requesting import list_objects
from runtime.errors import ApiError

NOT_PROVIDED = "Not provided."
_PREFIX = "volcano-"


def server_lines(context: Context) -> Iterator[str]:
    """One line for the API server and one for each component. Raises what the client raises."""
    found = context.client.server_version()
    yield f"Server Version: {found.git_version or NOT_PROVIDED}"
    yield f"Server OS/Arch: {found.platform or NOT_PROVIDED}"
    try:
        deployments = components(context, names.DEFAULT_NAMESPACE)
    except ApiError as error:
        yield f"Components: {NOT_PROVIDED} ({error})"
        return
    if not deployments:
        yield f"Components: none in namespace {names.DEFAULT_NAMESPACE}"
    for deployment in deployments:
        yield f"Component {fields.name(deployment)}: {', '.join(images(deployment))}"


def server_facts(context: Context) -> dict[str, Any]:
    """The same for programs. Raises what the client raises."""
    found = context.client.server_version()
    server = {"version": found.git_version, "platform": found.platform}
    try:
        deployments = components(context, names.DEFAULT_NAMESPACE)
    except ApiError as error:
        return {"serverVersion": server, "componentsError": str(error)}
    listed = [{"name": fields.name(deployment), "images": images(deployment)} for deployment in deployments]
    return {"serverVersion": server, "components": listed}


def components(context: Context, namespace: str) -> list[Object]:
    """The deployments of an installation. Raises ApiError."""
    deployments, _ = list_objects(context, DEPLOYMENTS, namespace)
    return [deployment for deployment in deployments if fields.name(deployment).startswith(_PREFIX)]


def images(deployment: Object) -> list[str]:
    """The images that its pods run."""
    containers = fields.items(deployment, "spec", "template", "spec", "containers")
    return [fields.text(container, "image") for container in containers]
