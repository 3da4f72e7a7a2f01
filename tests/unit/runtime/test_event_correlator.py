from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.event_correlator import BURST, COMBINED, MAX_NAME, Correlator, Occurrence, Write
from runtime.wire import EventSource, ObjectReference

SOURCE = EventSource(component="volcano", host="node-1")
START = 1_785_578_400.25  # 2026-08-01T10:00:00.25Z


def pod(name: str = "p", namespace: str = "ns", uid: str = "u", version: str = "1") -> ObjectReference:
    return ObjectReference(
        api_version="v1", kind="Pod", namespace=namespace, name=name, uid=uid, resource_version=version
    )


def seen(
    message: str = "m", *, ref: ObjectReference | None = None, reason: str = "R", at: float = START, count: int = 1
) -> Occurrence:
    return Occurrence(ref if ref is not None else pod(), "Warning", reason, message, at, at, count)


def take(correlator: Correlator, occurrence: Occurrence, now: float = 0.0) -> Write:
    """Take, and have the server store it."""
    write = correlator.take(occurrence, now)
    assert write is not None
    correlator.stored(write)
    return write


def test_a_first_occurrence_is_a_whole_event() -> None:
    write = take(Correlator(SOURCE), seen("no node fits"))
    event = write.event
    assert not write.is_stored
    assert event.involved_object == pod()
    assert (event.type, event.reason, event.message) == ("Warning", "R", "no node fits")
    assert (event.first_timestamp, event.last_timestamp) == ("2026-08-01T10:00:00Z", "2026-08-01T10:00:00Z")
    assert event.count == 1
    assert event.source == SOURCE
    assert (event.reporting_component, event.reporting_instance) == ("volcano", "node-1")
    assert event.metadata.namespace == "ns"
    assert event.metadata.name == f"p.{int(START * 1e9):x}"


def test_the_same_event_again_raises_the_count_of_the_first() -> None:
    correlator = Correlator(SOURCE)
    first = take(correlator, seen())
    again = take(correlator, seen(at=START + 60))
    assert again.is_stored
    assert again.event.metadata == first.event.metadata
    assert again.event.count == 2
    assert again.event.first_timestamp == "2026-08-01T10:00:00Z"
    assert again.event.last_timestamp == "2026-08-01T10:01:00Z"


def test_occurrences_that_waited_together_count_together() -> None:
    correlator = Correlator(SOURCE)
    assert take(correlator, seen(count=3)).event.count == 3
    assert take(correlator, seen(count=4)).event.count == 7


def test_a_newer_version_of_the_object_is_the_same_object_and_a_new_uid_is_not() -> None:
    correlator = Correlator(SOURCE)
    take(correlator, seen())
    assert take(correlator, seen(ref=pod(version="2"))).is_stored
    assert not take(correlator, seen(ref=pod(uid="other"))).is_stored


def test_an_event_that_never_reached_the_server_is_made_with_the_whole_count() -> None:
    correlator = Correlator(SOURCE)
    assert correlator.take(seen(), 0.0) is not None
    again = correlator.take(seen(), 1.0)
    assert again is not None
    assert not again.is_stored
    assert again.event.count == 2


def test_the_tenth_different_message_is_combined() -> None:
    correlator = Correlator(SOURCE)
    writes = [take(correlator, seen(f"message {number}"), number) for number in range(13)]
    assert [write.event.message for write in writes] == [
        *(f"message {number}" for number in range(9)),
        *(f"{COMBINED}message {number}" for number in range(9, 13)),
    ]
    combined = writes[9:]
    assert [write.is_stored for write in combined] == [False, True, True, True]
    assert [write.event.count for write in combined] == [1, 2, 3, 4]
    assert len({write.event.metadata.name for write in combined}) == 1


def test_a_message_of_before_keeps_its_own_event() -> None:
    correlator = Correlator(SOURCE)
    for number in range(12):
        take(correlator, seen(f"message {number}"))
    assert take(correlator, seen("message 3")).event.message == "message 3"


def test_after_ten_quiet_minutes_messages_are_single_again() -> None:
    correlator = Correlator(SOURCE)
    for number in range(12):
        take(correlator, seen(f"message {number}"), now=0.0)
    assert take(correlator, seen("message 20"), now=600.0).event.message.startswith(COMBINED)
    assert take(correlator, seen("message 21"), now=1200.5).event.message == "message 21"


def test_other_reasons_and_objects_are_not_combined() -> None:
    correlator = Correlator(SOURCE)
    for number in range(12):
        take(correlator, seen(f"message {number}"))
    assert take(correlator, seen("other", reason="Other")).event.message == "other"
    assert take(correlator, seen("other", ref=pod("q", uid="v"))).event.message == "other"


def test_an_object_that_goes_on_and_on_is_slowed_to_one_event_in_five_minutes() -> None:
    correlator = Correlator(SOURCE)
    for _ in range(BURST):
        take(correlator, seen())
    assert correlator.take(seen(), 0.0) is None
    assert correlator.take(seen(), 299.0) is None
    write = correlator.take(seen(), 300.0)
    assert write is not None
    assert write.event.count == BURST + 3
    assert correlator.take(seen(), 301.0) is None
    assert correlator.take(seen(ref=pod("q", uid="v")), 301.0) is not None


def test_a_quiet_object_never_gets_more_than_its_burst() -> None:
    correlator = Correlator(SOURCE)
    take(correlator, seen())
    admitted = [correlator.take(seen(), 1e9) for _ in range(BURST + 5)]
    assert [write is not None for write in admitted] == [True] * BURST + [False] * 5


def test_an_object_without_a_namespace_has_its_events_in_default() -> None:
    queue = ObjectReference(api_version="scheduling.volcano.sh/v1beta1", kind="Queue", name="q")
    event = take(Correlator(SOURCE), seen(ref=queue)).event
    assert event.metadata.namespace == "default"
    assert event.involved_object.namespace == ""


def test_names_differ_even_within_one_nanosecond() -> None:
    correlator = Correlator(SOURCE)
    names = {take(correlator, seen(f"{number}"), number).event.metadata.name for number in range(9)}
    assert len(names) == 9


def test_what_was_not_used_for_longest_is_forgotten() -> None:
    correlator = Correlator(SOURCE, capacity=2)
    for name in ("a", "b", "a", "c"):
        take(correlator, seen(ref=pod(name, uid=name)))
    assert take(correlator, seen(ref=pod("a", uid="a"))).is_stored
    assert not take(correlator, seen(ref=pod("b", uid="b"))).is_stored


def test_an_answer_for_a_forgotten_event_changes_nothing() -> None:
    correlator = Correlator(SOURCE, capacity=1)
    first = correlator.take(seen("a"), 0.0)
    take(correlator, seen("b"))
    assert first is not None
    correlator.stored(first)
    assert not take(correlator, seen("a")).is_stored


@given(st.text(max_size=300))
def test_names_fit_whatever_the_object_is_called(name: str) -> None:
    found = take(Correlator(SOURCE), seen(ref=pod(name))).event.metadata.name
    assert 0 < len(found) <= MAX_NAME
    assert ".." not in found[len(name) :]


@given(st.lists(st.integers(0, 30), max_size=200))
def test_no_occurrence_is_missing_in_the_counts(messages: list[int]) -> None:
    correlator = Correlator(SOURCE)
    counts: dict[str, int] = {}
    for number, message in enumerate(messages):
        # far enough apart to be admitted, near enough to be similar
        write = take(correlator, seen(f"message {message}"), number * 599.0)
        counts[write.event.metadata.name] = write.event.count
    assert sum(counts.values()) == len(messages)
