from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from runtime.admission import ALLOWED, Changed, Denial, Mutator, Patch, Validator
from runtime.admission_server import MAX_BODY, AdmissionServer, time_limit
from runtime.http1 import HttpRequest, HttpResponse
from runtime.metrics import REGISTRY
from runtime.patches import remove
from runtime.servingtls import ServingTls
from tests.unit.runtime.admissions import THINGS, Spec, Thing, encoded, patch_of
from tests.unit.runtime.tls_clients import Client, eventually, pair_number, serving

JSON_TYPE = {"content-type": "application/json"}


def handler(path: str, answer: Any) -> Validator[Thing]:
    """A validating handler whose answer is a verdict, or what a function of the object gives."""
    return Validator(
        path=path,
        resources=(THINGS,),
        operations=("CREATE",),
        model=Thing,
        validate=lambda request, obj, old: answer(obj) if callable(answer) else answer,
    )


def mutator(path: str, answer: Any) -> Mutator[Thing]:
    return Mutator(
        path=path,
        resources=(THINGS,),
        operations=("CREATE",),
        model=Thing,
        mutate=lambda request, obj, old: answer,
    )


def server_of(*handlers: Any) -> AdmissionServer:
    return AdmissionServer(handlers, ServingTls(), host="127.0.0.1", port=0)


def post(path: str, body: bytes | None = None, query: str = "", /, **headers: str) -> HttpRequest:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest("POST", path, query, {**JSON_TYPE, **names}, encoded(obj={}) if body is None else body, True)


def ask(server: AdmissionServer, request: HttpRequest) -> HttpResponse:
    response = server.handle(request)
    assert isinstance(response, HttpResponse)
    return response


def counted(path: str, verdict: str) -> float:
    labels = {"path": path, "verdict": verdict}
    return REGISTRY.get_sample_value("volcano_admission_requests_total", labels) or 0.0


@pytest.mark.parametrize("path", ["/", "/jobs", "/ok/", "/OK", "/ok%2f", "//ok", "/metrics"])
def test_an_unknown_path_is_never_allowed(path: str) -> None:
    before = counted("", "not_found")

    response = ask(server_of(handler("/ok", ALLOWED)), post(path))

    assert response.status == 404
    assert response.body == f"no admission handler is registered for {path}\n".encode()
    assert counted("", "not_found") == before + 1


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
def test_reviews_are_posted(method: str) -> None:
    response = ask(server_of(handler("/ok", ALLOWED)), HttpRequest(method, "/ok", "", JSON_TYPE, b"", True))

    assert response.status == 405
    assert response.headers == ("Allow: POST",)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "application/json"}, 200),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"content_type": " Application/JSON ;charset=utf-8; x=y"}, 200),
        ({"content_type": "application/json-patch+json"}, 415),
        ({"content_type": "text/json"}, 415),
        ({"content_type": "application/yaml"}, 415),
        ({"content_type": "application/vnd.kubernetes.protobuf"}, 415),
        ({"content_type": ""}, 415),
        ({"content_encoding": "gzip"}, 415),
    ],
)
def test_only_json_is_read(headers: dict[str, str], status: int) -> None:
    assert ask(server_of(handler("/ok", ALLOWED)), post("/ok", **headers)).status == status


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", b"the body is no AdmissionReview: Input data was truncated\n"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', b"the AdmissionReview has no request\n"),
        (
            encoded(obj="x").replace(b'"x"', b'{"spec":{"queue":"\xff"}}'),
            b"the object of the request can't be read: Invalid UTF-8 encoded string\n",
        ),
    ],
)
def test_a_malformed_review_is_a_bad_request_with_its_reason(
    body: bytes, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    before = counted("/ok", "malformed")

    response = ask(server_of(handler("/ok", ALLOWED)), post("/ok", body))

    assert (response.status, response.body) == (400, text)
    assert response.content_type.startswith("text/plain")
    assert counted("/ok", "malformed") == before + 1
    assert "malformed admission review" in caplog.text


@pytest.mark.parametrize(
    ("registered", "verdict"),
    [
        (handler("/allowed", ALLOWED), "allowed"),
        (handler("/denied", Denial("no")), "denied"),
        (mutator("/patched", Changed(Thing(spec=Spec(queue="a")))), "patched"),
        (mutator("/unchanged", Changed(Thing())), "allowed"),
    ],
)
def test_verdicts_are_counted_and_timed(registered: Any, verdict: str) -> None:
    count = f"{registered.path}"
    before = counted(count, verdict)
    timed = REGISTRY.get_sample_value("volcano_admission_request_duration_seconds_count", {"path": count}) or 0.0

    response = ask(server_of(registered), post(count))

    assert response.status == 200
    assert msgspec.json.decode(response.body)["response"]["allowed"] is (verdict != "denied")
    assert counted(count, verdict) == before + 1
    after = REGISTRY.get_sample_value("volcano_admission_request_duration_seconds_count", {"path": count})
    assert after == timed + 1


def test_a_denial_is_logged_with_user_object_and_dry_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    body = encoded(obj={}, dryRun=True, userInfo={"username": "eve\nmsg=forged"})

    ask(server_of(handler("/v", Denial("queue is closed"))), post("/v", body))

    [record] = [record for record in caplog.records if record.name == "runtime.admission_server"]
    assert record.getMessage() == (
        "msg=\"admission\" verdict=denied path=/v operation=CREATE object='things space/one' "
        "user='eve\\nmsg=forged' dry_run=True reason='queue is closed'"
    )


def test_what_is_allowed_is_logged_for_those_who_look_closer(caplog: pytest.LogCaptureFixture) -> None:
    server = server_of(handler("/v", ALLOWED))
    caplog.set_level(logging.INFO)
    ask(server, post("/v"))
    assert not caplog.records

    caplog.set_level(logging.DEBUG)
    ask(server, post("/v"))
    assert "verdict=allowed path=/v operation=CREATE object='things space/one' user='jane' dry_run=False" in caplog.text


def throw(obj: Thing) -> Any:
    raise KeyError("defect")


@pytest.mark.parametrize(
    ("registered", "text"),
    [
        (handler("/f", throw), b"/f failed on things space/one: KeyError: 'defect'\n"),
        (
            mutator("/f", Patch((remove("/x"),))),
            b"/f failed on things space/one: PatchError: remove '/x': there is no member 'x'\n",
        ),
    ],
)
def test_a_handler_that_fails_leaves_the_decision_to_the_failure_policy(
    registered: Any, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    before = counted("/f", "failed")

    response = ask(server_of(registered), post("/f"))

    assert (response.status, response.body) == (500, text)
    assert counted("/f", "failed") == before + 1
    assert "object='things space/one'" in caplog.text
    assert "Traceback" in caplog.text


async def test_an_asynchronous_handler_fails_in_the_same_way() -> None:
    async def fail(obj: Thing) -> Any:
        await asyncio.sleep(0)
        throw(obj)

    pending = server_of(handler("/f", fail)).handle(post("/f"))

    assert isinstance(pending, Awaitable)
    response = await pending
    assert (response.status, response.body) == (500, b"/f failed on things space/one: KeyError: 'defect'\n")


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("query", "seconds"), [("timeout=10s", 9.0), ("timeout=1s", 0.9), ("", 9.0), ("timeout=1h", 27.0)]
)
async def test_a_handler_that_takes_too_long_is_cut_off_before_the_server_stops_waiting(
    query: str, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    loop, cancelled, before = asyncio.get_running_loop(), asyncio.Event(), counted("/slow", "timeout")

    async def wait(obj: Thing) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    started = loop.time()
    pending = server_of(handler("/slow", wait)).handle(post("/slow", None, query))
    assert isinstance(pending, Awaitable)
    response = await pending

    assert loop.time() - started == pytest.approx(seconds)
    assert cancelled.is_set()
    assert response.status == 500
    assert response.body == f"/slow had no verdict on things space/one within {seconds:g} s\n".encode()
    assert counted("/slow", "timeout") == before + 1
    assert "verdict=timeout path=/slow" in caplog.text


@pytest.mark.virtual_time
async def test_a_time_out_of_the_handlers_own_is_a_failure_of_the_handler() -> None:
    async def give_up(obj: Thing) -> Any:
        raise TimeoutError("own")

    pending = server_of(handler("/own", give_up)).handle(post("/own"))
    assert isinstance(pending, Awaitable)
    assert (await pending).body == b"/own failed on things space/one: TimeoutError: own\n"


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 9.0),
        ("timeout=500ms", 0.45),
        ("x=y&timeout=2s", 1.8),
        ("timeout=1m0s", 27.0),
        ("", 9.0),
        ("timeout=", 9.0),
        ("timeout=soon", 9.0),
        ("timeout=-5s", 9.0),
        ("timeout=0s", 9.0),
        ("timeout=%FF", 9.0),
    ],
)
def test_the_time_limit_follows_the_question(query: str, seconds: float) -> None:
    assert time_limit(query) == pytest.approx(seconds)


def test_paths_are_served_once() -> None:
    one, two = handler("/a", ALLOWED), handler("/b", ALLOWED)

    assert server_of(one, two, one).paths == ("/a", "/b")
    with pytest.raises(ValueError, match="two admission handlers claim the path /a"):
        server_of(one, handler("/a", ALLOWED))


async def test_reviews_are_answered_over_tls() -> None:
    async def later(obj: Thing) -> Any:
        await asyncio.sleep(0)
        return Denial(f"{obj.spec.queue} is closed")

    tls = serving()
    server = AdmissionServer(
        [mutator("/m", Changed(Thing(spec=Spec(queue="q")))), handler("/v", later)], tls, host="127.0.0.1", port=0
    )
    was_ready = server.is_ready
    await server.start()
    assert (was_ready, server.is_ready) == (False, True)
    try:
        async with await Client.connect(server.port) as client:
            body = encoded(obj={"spec": {"queue": "a"}})
            mutated = await client.ask(body, "Content-Type: application/json", path="/m?timeout=10s")
            response = msgspec.json.decode(mutated.body)["response"]
            assert patch_of(response) == [{"op": "replace", "path": "/spec/queue", "value": "q"}]

            denied = await client.ask(body, "Content-Type: application/json", path="/v?timeout=10s")
            assert msgspec.json.decode(denied.body)["response"]["status"] == {"message": "a is closed"}

            huge = await client.ask(b" " * (MAX_BODY + 1), "Content-Type: application/json", path="/v")
            assert (huge.status, huge.body) == (413, b"request body too large\n")
        await server.drain(10)
        assert not server.is_ready
    finally:
        server.abort()


async def test_readiness_tells_what_is_missing() -> None:
    tls = ServingTls()
    server = AdmissionServer([handler("/v", ALLOWED)], tls, host="127.0.0.1", port=0)
    assert server.problem() == "the admission server doesn't listen"

    running = asyncio.ensure_future(server.run())
    await eventually(lambda: server.problem() == "there is no serving certificate yet")
    tls.install(pair_number(0).cert, pair_number(0).key)
    assert server.is_ready

    await server.drain(math.inf)
    await asyncio.wait_for(running, 20)
    assert not server.is_ready


async def test_a_cancelled_server_closes_its_listener() -> None:
    server = AdmissionServer([handler("/v", ALLOWED)], serving(), host="127.0.0.1", port=0)
    running = asyncio.ensure_future(server.run())
    await eventually(lambda: server.is_ready)
    async with await Client.connect(server.port) as client:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await client.ended()
    assert not server.is_ready


async def test_a_server_that_can_not_bind_says_so() -> None:
    first = AdmissionServer([handler("/v", ALLOWED)], serving(), host="127.0.0.1", port=0)
    await first.start()
    with pytest.raises(OSError, match="in use"):
        await AdmissionServer([], serving(), host="127.0.0.1", port=first.port).run()
    first.abort()
