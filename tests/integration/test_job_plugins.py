"""Job plugins on a real API server: what they make is accepted, owned, and goes when the job has finished."""

from __future__ import annotations

import base64
from collections.abc import Callable

import msgspec

from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta
from tests.integration.controllers import admit, bind, end, eventually
from tests.integration.test_job_controller import Case, a_job
from tests.integration.test_job_controller import clients as clients  # noqa: PLC0414  # a fixture

ALL = dict.fromkeys(("svc", "ssh", "env", "mpi", "tensorflow", "pytorch", "hcclrank"), ())


async def objects(clients: Clientset, namespace: str) -> list[str]:
    """Names of what plugins made there, by kind."""
    core, networking = clients.core_v1, clients.networking_v1
    maps = (await core.config_maps.list(namespace)).items
    found: list[tuple[str, ObjectMeta]] = [("ConfigMap", each.metadata) for each in maps]
    found += [("Service", each.metadata) for each in (await core.services.list(namespace)).items]
    found += [("Secret", each.metadata) for each in (await core.secrets.list(namespace)).items]
    found += [("NetworkPolicy", each.metadata) for each in (await networking.network_policies.list(namespace)).items]
    return sorted(f"{kind} {meta.name}" for kind, meta in found if meta.name != "kube-root-ca.crt")


async def test_plugins_serve_a_job_from_its_start_to_its_end(
    clients: Clientset, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    (node,) = kwok_nodes()
    case = Case(clients, namespace)
    job = a_job(replicas=2)
    job = msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, plugins=ALL))
    await clients.batch_v1alpha1.jobs.create(job, namespace)

    await admit(clients, namespace)
    pods = await case.has_pods("j-t-0", "j-t-1")
    made = await objects(clients, namespace)
    assert made == ["ConfigMap j-svc", "NetworkPolicy j", "Secret j-ssh", "Service j"]
    hosts = (await clients.core_v1.config_maps.get("j-svc", namespace)).data
    assert hosts["VC_T_HOSTS"] == "j-t-0.j,j-t-1.j"
    secret = (await clients.core_v1.secrets.get("j-ssh", namespace)).data
    assert base64.b64decode(secret["id_rsa"]).startswith(b"-----BEGIN RSA PRIVATE KEY-----")

    pod = next(pod for pod in pods if pod.metadata.name == "j-t-1")
    assert (pod.spec.hostname, pod.spec.subdomain) == ("j-t-1", "j")
    variables = {variable.name: variable.value for variable in pod.spec.containers[0].env}
    assert variables["VC_TASK_INDEX"] == "1"
    assert '"index":1' in variables["TF_CONFIG"]
    marks = (await case.read()).status.controlled_resources
    assert set(marks) == {f"plugin-{name}" for name in ALL if name != "hcclrank"}

    await bind(clients, namespace, node)
    await case.reaches("Running")
    for pod in pods:
        await end(clients, namespace, pod.metadata.name, "Succeeded")
    await case.reaches("Completed")

    async def rest() -> list[str]:
        return await objects(clients, namespace)

    await eventually(rest, lambda left: left == [])
    await eventually(case.read, lambda found: not found.status.controlled_resources)
