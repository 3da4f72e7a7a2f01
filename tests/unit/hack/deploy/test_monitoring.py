"""Alerts and dashboards ask for metrics, labels and values that the processes really have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, Gauge, Histogram

from hack.manifests.components import modules_of
from runtime.metrics import REGISTRY
from tests.unit.hack.deploy.rendered import LEASES, deployments, of_kind, rendered

ROOT = Path(__file__).resolve().parents[4]
WORDS = re.compile(r"\b(?:volcano|workqueue|leader)_[a-z0-9_]+")
SELECTION = re.compile(r"(?P<metric>[a-z0-9_]+)\{(?P<labels>[^}]*)\}")
GROUPED = re.compile(r"by \((?P<labels>[^)]*)\)")
EVERYTHING = "agent-scheduler,hypernode,prometheus"
SCRAPED = {"pod", "le"}
"""Labels that Prometheus adds, and that of buckets."""
LEADERS = re.compile(r'absent\(leader_election_master_status\{name="(?P<lease>[^"]+)"\} == 1\)')


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    """Every series name, and the labels it has."""
    for package in ("runtime", "scheduler", "controllers", "webhooks"):
        assert list(modules_of(package, ROOT))
    found: dict[str, set[str]] = {}
    for metric in set(REGISTRY._names_to_collectors.values()):
        if isinstance(metric, Counter | Gauge | Histogram):
            found |= {name: set(metric._labelnames) for name in series(metric)}
    return found


def series(metric: Counter | Gauge | Histogram) -> Iterator[str]:
    name = metric._name
    if isinstance(metric, Histogram):
        yield from (f"{name}_{suffix}" for suffix in ("bucket", "count", "sum"))
    elif type(metric) is Counter:
        yield f"{name}_total"
    else:
        yield name.removesuffix("_total") if isinstance(metric, Counter) else name


def alerts() -> Iterator[tuple[str, str]]:
    for found in of_kind(rendered("production", EVERYTHING), "PrometheusRule"):
        for group in found["spec"]["groups"]:
            for rule in group["rules"]:
                yield rule["alert"], rule["expr"]


def panels() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "config/components/prometheus/dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']}", target["expr"]


@pytest.mark.parametrize(("where", "query"), [*alerts(), *panels()])
def test_a_query_asks_for_what_there_is(where: str, query: str, known: dict[str, set[str]]) -> None:
    metrics = set(WORDS.findall(re.sub(r'"[^"]*"', '""', query)))
    assert metrics, where
    assert metrics <= known.keys(), where
    for found in SELECTION.finditer(query):
        labels = set(re.findall(r"(\w+)\s*(?:=|!)", found["labels"]))
        assert labels - SCRAPED <= known[found["metric"]], where
    grouped = {label.strip() for found in GROUPED.finditer(query) for label in found["labels"].split(",")}
    everywhere = set.intersection(*(known[metric] for metric in metrics))
    assert grouped - SCRAPED <= everywhere, where


def test_every_alert_says_what_happens_and_what_to_do() -> None:
    found = of_kind(rendered("production", EVERYTHING), "PrometheusRule")
    rules: list[dict[str, Any]] = [rule for one in found for group in one["spec"]["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 10
    for rule in rules:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        shown = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        grouped = {label.strip() for by in GROUPED.findall(rule["expr"]) for label in by.split(",")}
        assert shown <= grouped, rule["alert"]


def test_every_process_is_scraped_at_a_port_it_has() -> None:
    objects = rendered("production", EVERYTHING)
    services = of_kind(objects, "Service")
    scraped = []
    for monitor in of_kind(objects, "ServiceMonitor"):
        [service] = [
            found for found in services
            if found["metadata"].get("labels", {}).get("app") == monitor["spec"]["selector"]["matchLabels"]["app"]
        ]  # fmt: skip
        assert {end["port"] for end in monitor["spec"]["endpoints"]} <= {
            port.get("name") for port in service["spec"]["ports"]
        }
        scraped.append(service["spec"]["selector"])
    pods = [found["spec"]["selector"]["matchLabels"] for found in of_kind(objects, "Deployment")]
    assert sorted(map(str, scraped)) == sorted(map(str, pods))


def test_every_process_that_elects_is_missed_when_none_leads() -> None:
    missed = {found["lease"] for _, query in alerts() for found in LEADERS.finditer(query)}
    pods = deployments(rendered("production", EVERYTHING))
    assert missed == {LEASES[name] for name in pods if name in LEASES}
    assert len(missed) == 4


def test_an_alert_about_a_process_comes_with_the_process_only() -> None:
    [found] = of_kind(rendered("production", "prometheus"), "PrometheusRule")
    assert found["metadata"]["name"] == "volcano"  # else one that isn't installed would be missed for ever


def test_processes_with_the_same_metrics_can_be_looked_at_one_by_one() -> None:
    """The fast path has the scheduler's names; a sum over both says nothing of either."""
    queries = [query for where, query in panels() if where.startswith("volcano-scheduler: ") and "Leaders" not in where]
    assert len(queries) > 10
    assert [query for query in queries if query.count("volcano_") != query.count('pod=~"$pod"')] == []


def test_dashboards_can_be_told_apart() -> None:
    boards = [
        json.loads(path.read_text()) for path in (ROOT / "config/components/prometheus/dashboards").glob("*.json")
    ]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == len(boards) == 4
    for board in boards:
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
        assert len(places) == len(set(places))
