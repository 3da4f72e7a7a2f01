from __future__ import annotations

import logging

import pytest

from runtime.health import Checks, Health
from runtime.serving import Call, Reply, Router


async def ask(checks: Checks, path: str, **query: str) -> Reply:
    router = Router()
    checks.route(router)
    found = router.find(path)
    assert found is not None
    handler, parts = found
    reply = handler(Call("GET", path, parts, query))
    assert not isinstance(reply, Reply)
    return await reply


def ready() -> Checks:
    checks = Checks("readyz", failure_status=503)
    checks.add("caches", lambda: "")
    return checks


async def test_a_passing_endpoint_says_ok() -> None:
    assert await ask(ready(), "/readyz") == Reply("ok")


async def test_verbose_names_each_check() -> None:
    reply = await ask(ready(), "/readyz", verbose="")
    assert reply.body == "[+]ping ok\n[+]caches ok\nreadyz check passed\n"
    assert reply.status == 200


async def test_one_failing_check_fails_the_endpoint_and_is_named() -> None:
    checks = ready()
    checks.add("lease", lambda: "no leader seen yet")
    reply = await ask(checks, "/readyz")
    assert reply.status == 503
    assert reply.body == "[+]ping ok\n[+]caches ok\n[-]lease failed: no leader seen yet\nreadyz check failed\n"
    assert not checks.is_passing


async def test_an_excluded_check_does_not_count() -> None:
    checks = ready()
    checks.add("lease", lambda: "missing")
    assert (await ask(checks, "/readyz", exclude="lease")).status == 200
    assert (await ask(checks, "/readyz", exclude="caches,lease", verbose="1")).body == (
        "[+]ping ok\nreadyz check passed\n"
    )


async def test_a_check_that_throws_fails_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    checks = ready()
    checks.add("broken", lambda: str(1 // 0))
    with caplog.at_level(logging.ERROR):
        reply = await ask(checks, "/readyz")
    assert "[-]broken failed: ZeroDivisionError" in str(reply.body)
    assert "check=broken" in caplog.text


async def test_a_single_check_can_be_asked() -> None:
    checks = ready()
    checks.add("lease", lambda: "missing")
    assert await ask(checks, "/readyz/caches") == Reply("ok")
    assert await ask(checks, "/readyz/lease") == Reply("missing\n", 503)
    assert (await ask(checks, "/readyz/nope")).status == 404


async def test_a_dropped_check_no_longer_counts() -> None:
    checks = ready()
    checks.add("lease", lambda: "missing")
    checks.drop("lease")
    checks.drop("never there")
    assert checks.is_passing


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="caches"):
        ready().add("caches", lambda: "")


async def test_health_and_liveness_fail_with_500_and_readiness_with_503() -> None:
    health = Health()
    for checks, status in ((health.healthz, 500), (health.livez, 500), (health.readyz, 503)):
        checks.add("down", lambda: "down")
        assert (await ask(checks, f"/{checks.endpoint}")).status == status


def test_all_endpoints_are_served() -> None:
    router = Router()
    Health().route(router)
    assert [path for path in router.paths if "{" not in path] == ["/healthz", "/livez", "/readyz"]
