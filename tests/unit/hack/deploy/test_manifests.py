"""What holds for every overlay with every feature."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import controllers.hypernode.options
import controllers.options
import scheduler.__main__
import scheduler.agentscheduler.configuration
import scheduler.agentscheduler.options
import scheduler.settings.options
import webhooks.options
from api import names
from controllers import gates
from hack.deploy import order
from hack.deploy.kubectl import Object
from runtime.component import FLUSH_SECONDS
from runtime.manager import Manager
from scheduler.settings import conf, loading
from tests.unit.hack.deploy.rendered import COMBINATIONS, LEASES, deployments, of_kind, rendered
from webhooks import WEBHOOKS, enabled

ROOT = Path(__file__).resolve().parents[4]
PARSERS: dict[str, Callable[[], Any]] = {
    "vc-scheduler": lambda: scheduler.settings.options.parser(scheduler.settings.options.feature_gates()),
    "vc-controller-manager": lambda: controllers.options.parser(controllers.options.feature_gates()),
    "vc-hypernode-controller-manager": controllers.hypernode.options.parser,
    "vc-agent-scheduler": lambda: scheduler.agentscheduler.options.parser(scheduler.settings.options.feature_gates()),
    "vc-webhook-manager": lambda: webhooks.options.parser(
        webhooks.options.feature_gates(), enabled.by_default(WEBHOOKS)
    ),
}
SELECTORS = {
    "volcano-scheduler": "volcano-scheduler",
    "volcano-controllers": "volcano-controller",
    "volcano-admission": "volcano-admission",
    "volcano-hypernode-controller": "volcano-hypernode-controller",
    "volcano-agent-scheduler": "volcano-agent-scheduler",
}
"""Those of Volcano's chart: the selector of a Deployment can't be changed, so only with these can one replace another."""
CONTAINERS = {
    "volcano-scheduler": "volcano-scheduler", "volcano-controllers": "volcano-controllers",
    "volcano-admission": "admission", "volcano-hypernode-controller": "volcano-hypernode-controller",
    "volcano-agent-scheduler": "volcano-agent-scheduler",
}  # fmt: skip
SCHEDULERS = {"volcano-scheduler", "volcano-agent-scheduler"}
SCHEDULER_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""

pytestmark = pytest.mark.parametrize(("environment", "feature"), COMBINATIONS)


@pytest.fixture
def objects(environment: str, feature: str) -> tuple[Object, ...]:
    return rendered(environment, feature)


@pytest.fixture
def pods(objects: tuple[Object, ...]) -> dict[str, Any]:
    return deployments(objects)


def flags(pod: dict[str, Any]) -> Any:
    container = pod["containers"][0]
    return PARSERS[container["command"][0]]().parse(container["args"])


def test_no_object_is_there_twice_and_all_have_a_place(objects: tuple[Object, ...]) -> None:
    keys = [order.key(found) for found in objects]
    assert len(keys) == len(set(keys))
    namespaces = {found["metadata"]["name"] for found in of_kind(objects, "Namespace")}
    assert {namespace for _, _, namespace, _ in keys if namespace} <= namespaces


def test_everything_says_that_it_is_part_of_volcano(objects: tuple[Object, ...]) -> None:
    without = [
        order.label(found)
        for found in objects
        if found["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "volcano"
    ]
    assert without == []


def test_every_command_is_a_console_script_and_takes_its_arguments(pods: dict[str, Any]) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for pod in pods.values():
        [command] = pod["containers"][0]["command"]
        assert command in scripts
        flags(pod)
        assert all(argument.startswith("-") for argument in pod["containers"][0]["args"])


def test_whoever_can_elect_a_leader_does(pods: dict[str, Any]) -> None:
    for name, pod in pods.items():
        elects = [word for word in pod["containers"][0]["args"] if word.startswith("--leader-elect=")]
        assert elects == ([] if name == "volcano-admission" else ["--leader-elect=true"])
        if elects:
            assert flags(pod).leader_elect is True
            assert flags(pod).leader_elect_resource_namespace == names.DEFAULT_NAMESPACE
    leases = {name: flags(pod).leader_elect_resource_name for name, pod in pods.items() if name in LEASES}
    assert leases == {name: lease for name, lease in LEASES.items() if name in pods}


def test_hypernodes_belong_to_exactly_one_process(pods: dict[str, Any]) -> None:
    enabled_there = gates.is_enabled("hyperNode-controller", flags(pods["volcano-controllers"]).controllers)
    assert enabled_there is ("volcano-hypernode-controller" not in pods)


def test_names_selectors_and_containers_are_those_that_can_replace_volcanos(objects: tuple[Object, ...]) -> None:
    for found in of_kind(objects, "Deployment"):
        name = found["metadata"]["name"]
        labels = {"app": SELECTORS[name]}
        assert found["spec"]["selector"] == {"matchLabels": labels}
        assert found["spec"]["template"]["metadata"]["labels"] == labels
        assert [container["name"] for container in found["spec"]["template"]["spec"]["containers"]] == [
            CONTAINERS[name]
        ]


def test_services_and_budgets_select_pods_that_there_are(objects: tuple[Object, ...]) -> None:
    apps = {found["spec"]["selector"]["matchLabels"]["app"] for found in of_kind(objects, "Deployment")}
    services = {found["metadata"]["name"]: found["spec"] for found in of_kind(objects, "Service")}
    for name, spec in services.items():
        if name != "volcano-admission-metrics":
            assert spec["selector"]["app"] in apps, name
    for found in of_kind(objects, "PodDisruptionBudget", "NetworkPolicy"):
        selector = found["spec"].get("selector") or found["spec"]["podSelector"]
        assert selector["matchLabels"]["app"] in apps, order.label(found)


def test_pods_keep_to_the_restricted_standard(pods: dict[str, Any]) -> None:
    for pod in pods.values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not any(pod.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
        assert all(set(volume) & {"configMap", "emptyDir", "secret"} for volume in pod["volumes"])
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_pods_are_probed_and_outlast_a_drain(pods: dict[str, Any]) -> None:
    for name, pod in pods.items():
        container = pod["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
            assert container[probe]["httpGet"] == {"path": path, "port": "health"}
        assert ports["health"] == int(flags(pod).healthz_address.rpartition(":")[2])
        pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pod["terminationGracePeriodSeconds"] > pause + drain_seconds(name, pod) + FLUSH_SECONDS


def drain_seconds(name: str, pod: dict[str, Any]) -> float:
    if name == "volcano-admission":
        return webhooks.options.service(flags(pod)).drain_seconds
    default: float = inspect.signature(Manager).parameters["drain_seconds"].default
    return scheduler.__main__.DRAIN_SECONDS if name in SCHEDULERS else default


def test_pods_ask_for_resources_and_stay_when_a_node_is_full(pods: dict[str, Any]) -> None:
    for pod in pods.values():
        assert set(pod["containers"][0]["resources"]["requests"]) == {"cpu", "memory"}
        assert pod["priorityClassName"] == "system-cluster-critical"


def test_what_is_mounted_is_there_and_what_arguments_name_is_mounted(
    objects: tuple[Object, ...], pods: dict[str, Any]
) -> None:
    maps = {found["metadata"]["name"]: found for found in of_kind(objects, "ConfigMap")}
    for pod in pods.values():
        container = pod["containers"][0]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
        for path in (word.partition("=")[2] for word in container["args"] if "=/" in word):
            folder, _, file = path.rpartition("/")
            volume = mounts[folder]
            assert "secret" in volume or file in maps[volume["configMap"]["name"]]["data"], path


def test_config_maps_have_the_names_and_keys_that_components_look_for(
    objects: tuple[Object, ...], feature: str
) -> None:
    data = {found["metadata"]["name"]: found.get("data", {}) for found in of_kind(objects, "ConfigMap")}
    assert data[names.ConfigMap.SCHEDULER] == {names.ConfigKey.SCHEDULER: SCHEDULER_CONF}
    assert data[names.ConfigMap.CONTROLLER] == {names.ConfigKey.CONTROLLER: ""}
    assert data[names.ConfigMap.SHARDING] == {names.ConfigKey.SHARDING: ""}
    if feature != "policies":
        assert set(data[names.ConfigMap.ADMISSION]) == {names.ConfigKey.ADMISSION}
    catalog = loading.built_in()
    found = conf.parse(SCHEDULER_CONF, actions=catalog.actions, plugins=catalog.plugins)
    assert (found.actions, found.warnings) == (("enqueue", "allocate", "backfill"), ())
    if feature == "agent-scheduler":
        fast = scheduler.agentscheduler.configuration
        assert data[names.ConfigMap.AGENT_SCHEDULER] == {names.ConfigKey.AGENT_SCHEDULER: fast.DEFAULT}


def test_the_api_server_asks_for_exactly_the_paths_that_are_served(
    objects: tuple[Object, ...], pods: dict[str, Any]
) -> None:
    asked = [
        webhook["clientConfig"]["service"]
        for found in of_kind(objects, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        for webhook in found["webhooks"]
    ]
    served = flags(pods["volcano-admission"]).enabled_admission if "volcano-admission" in pods else ""
    assert sorted(service["path"] for service in asked) == sorted(enabled.entries(served))
    services = {order.key(found)[2:]: found["spec"] for found in of_kind(objects, "Service")}
    for service in asked:
        ports = services[service["namespace"], service["name"]]["ports"]
        assert [port["targetPort"] for port in ports if port["port"] == service["port"]] == [
            flags(pods["volcano-admission"]).port
        ]


# Rights.


def rules(objects: tuple[Object, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for found in of_kind(objects, "ClusterRole", "Role"):
        for rule in found["rules"]:
            yield order.label(found), rule


def test_no_role_grants_everything_of_anything(objects: tuple[Object, ...]) -> None:
    granted = list(rules(objects))
    assert len(granted) > 50
    for role, rule in granted:
        for key in ("apiGroups", "resources", "verbs"):
            assert rule[key], (role, rule)
            assert not any("*" in word for word in rule[key]), (role, rule)


def test_no_role_could_raise_itself(objects: tuple[Object, ...]) -> None:
    for role, rule in rules(objects):
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), role
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"], role
        assert not {"serviceaccounts/token", "pods/exec", "nodes/proxy"} & set(rule["resources"]), role


def test_secrets_can_be_listed_by_nobody(objects: tuple[Object, ...]) -> None:
    for role, rule in rules(objects):
        if "secrets" in rule["resources"]:
            assert not {"list", "watch"} & set(rule["verbs"]), role


def test_every_account_is_used_and_bound_and_every_binding_holds(
    objects: tuple[Object, ...], pods: dict[str, Any]
) -> None:
    accounts = {found["metadata"]["name"] for found in of_kind(objects, "ServiceAccount")}
    assert accounts == {pod["serviceAccountName"] for pod in pods.values()}
    roles = {(found["kind"], found["metadata"]["name"]) for found in of_kind(objects, "ClusterRole", "Role")}
    bound = set()
    for found in of_kind(objects, "ClusterRoleBinding", "RoleBinding"):
        assert (found["roleRef"]["kind"], found["roleRef"]["name"]) in roles, order.label(found)
        for subject in found["subjects"]:
            assert (subject["kind"], subject["namespace"]) == ("ServiceAccount", names.DEFAULT_NAMESPACE)
            bound.add(subject["name"])
    assert bound == accounts


def test_elected_replicas_stand_apart_where_there_are_several(environment: str, objects: tuple[Object, ...]) -> None:
    replicas = {found["metadata"]["name"]: found["spec"]["replicas"] for found in of_kind(objects, "Deployment")}
    assert set(replicas.values()) == ({1} if environment == "dev" and not has_spread(objects) else {2})
    for found in of_kind(objects, "Deployment"):
        if found["spec"]["replicas"] > 1:
            labels = found["spec"]["selector"]
            hard = [
                spread for spread in found["spec"]["template"]["spec"]["topologySpreadConstraints"]
                if spread["whenUnsatisfiable"] == "DoNotSchedule"
            ]  # fmt: skip
            assert [(spread["topologyKey"], spread["maxSkew"], spread["labelSelector"]) for spread in hard] == [
                ("kubernetes.io/hostname", 1, labels)
            ]
    budgets = {found["metadata"]["name"] for found in of_kind(objects, "PodDisruptionBudget")}
    assert budgets == (set(replicas) if has_spread(objects) else set())


def test_where_ports_are_limited_no_process_is_forgotten(environment: str, objects: tuple[Object, ...]) -> None:
    limited = {
        found["spec"]["podSelector"]["matchLabels"]["app"]: {
            port["port"] for port in found["spec"]["ingress"][0]["ports"]
        }
        for found in of_kind(objects, "NetworkPolicy")
    }
    served = {
        SELECTORS[name]: {port["containerPort"] for port in pod["containers"][0]["ports"]}
        for name, pod in deployments(objects).items()
    }
    assert limited == (served if environment == "production" else {})


def test_where_memory_is_limited_every_process_has_a_limit(environment: str, pods: dict[str, Any]) -> None:
    limited = [name for name, pod in pods.items() if "memory" in pod["containers"][0]["resources"].get("limits", {})]
    assert limited == (list(pods) if environment == "production" else [])


def has_spread(objects: tuple[Object, ...]) -> bool:
    return any("topologySpreadConstraints" in pod for pod in deployments(objects).values())
