from __future__ import annotations

import gc
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.decoding import decoder_of
from runtime.interning import InterningDecoder, Pool
from runtime.shadow import Recall
from tests.unit.runtime.models import Affinity, Container, EnvVar, Meta, Pod, PodSpec, text

PATHS = ("spec.containers", "spec.containers[].env", "spec.affinity", "spec.nodeSelector")


def pod_decoder() -> InterningDecoder[Pod]:
    return InterningDecoder(Pod, intern=PATHS, drop=("metadata.managedFields",))


def pod_text(name: str, *containers: Container, affinity: Affinity | None = None) -> bytes:
    return msgspec.json.encode(Pod(metadata=Meta(name=name), spec=PodSpec(containers=containers, affinity=affinity)))


ENV = (EnvVar(name="A", value="1"), EnvVar(name="B", value="2"))


def test_equal_parts_are_one_object_from_the_first_sight_on() -> None:
    decoder = pod_decoder()
    pods = [decoder.decode(pod_text(name, Container(name="c", env=ENV), affinity=Affinity(zone="z"))) for name in "abc"]
    assert [each.metadata.name for each in pods] == ["a", "b", "c"]
    assert len({id(each.spec.containers) for each in pods}) == 1
    assert len({id(each.spec.affinity) for each in pods}) == 1
    assert type(pods[0].spec.affinity) is Affinity


def test_containers_that_differ_share_their_equal_parts() -> None:
    decoder = pod_decoder()
    first = decoder.decode(pod_text("a", Container(name="c", image="x", env=ENV)))
    second = decoder.decode(pod_text("b", Container(name="c", image="y", env=ENV)))
    assert first.spec.containers is not second.spec.containers
    assert first.spec.containers[0].env is second.spec.containers[0].env


def test_parts_that_differ_share_their_strings_and_empty_maps() -> None:
    decoder = InterningDecoder(Pod, intern=("spec",))
    first, second = (
        decoder.decode(text(Pod(spec=PodSpec(node_name="some-node", priority=number)))) for number in (1, 2)
    )
    assert first.spec is not second.spec
    assert first.spec.node_name is second.spec.node_name
    assert first.spec.node_selector is second.spec.node_selector


def test_texts_of_pods_that_are_gone_are_forgotten() -> None:
    decoder = InterningDecoder(Pod, intern=("spec",))
    kept = decoder.decode(text(Pod(spec=PodSpec(node_name="kept"))))
    for number in range(1000):
        decoder.decode(text(Pod(spec=PodSpec(node_name=f"node-{number}"))))
    assert len(decoder.words) < 20
    decoder.pools["$.spec"].sweep()
    decoder.words.sweep()
    assert len(decoder.words) == len(decoder.pools["$.spec"]) == 1
    again = decoder.decode(text(Pod(spec=PodSpec(node_name="kept", priority=7))))
    assert again.spec.node_name is kept.spec.node_name


def test_texts_of_parts_are_not_interned_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def note(value: str) -> str:
        taken.append(value)
        return value

    monkeypatch.setattr("sys.intern", note)
    decoder = InterningDecoder(Pod, intern=("spec",))
    assert decoder.decode(text(Pod(spec=PodSpec(node_name="n\u00f6de")))).spec.node_name == "n\u00f6de"
    assert taken == []


def test_parts_of_different_fields_with_equal_text_keep_their_types() -> None:
    decoder = InterningDecoder(Pod, intern=("spec.containers", "metadata.managedFields"))
    pod = decoder.decode(b'{"metadata":{"managedFields":[{}]},"spec":{"containers":[{}]}}')
    assert pod.spec.containers == (Container(),)
    assert type(pod.metadata.managed_fields[0]).__name__ == "ManagedFields"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"spec":{"containers":7}}', r"Expected `array`, got `int` - at `\$\.spec\.containers`"),
        (b'{"spec":{"containers":[{"name":7}]}}', r"got `int` - at `\$\.spec\.containers\[0\]\.name`"),
        (
            b'{"spec":{"containers":[{"env":[{"name":7}]}]}}',
            r"got `int` - at `\$\.spec\.containers\[\]\.env\[0\]\.name`",
        ),
        (b'{"metadata":{"name":7}}', r"got `int` - at `\$\.metadata\.name`"),
    ],
)
def test_a_bad_part_is_an_error_with_its_path(text: bytes, problem: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=problem):
        pod_decoder().decode(text)


def test_text_that_is_no_json_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        pod_decoder().decode(b'{"spec"')


@pytest.mark.parametrize(
    "text",
    [
        b'{"spec":{"containers":null,"affinity":null}}',
        b'{"metadata":{"labels":null},"spec":{"containers":[{"env":null,"name":"c"}]}}',
        b'{"metadata":null,"spec":null}',
    ],
)
def test_nulls_mean_what_they_mean_to_the_plain_decoder(text: bytes) -> None:
    assert pod_decoder().decode(text) == decoder_of(Pod).decode(text)


def test_objects_with_nulls_are_interned_too() -> None:
    decoder = pod_decoder()
    texts = [b'{"metadata":{"name":"%s","labels":null},"spec":{"containers":[{"name":"c"}]}}' % n for n in (b"a", b"b")]
    first, second = map(decoder.decode, texts)
    assert first.spec.containers is second.spec.containers


def test_a_part_that_no_object_holds_is_forgotten() -> None:
    decoder = pod_decoder()
    kept = decoder.decode(pod_text("kept", Container(name="kept", env=ENV)))
    for number in range(200):
        decoder.decode(pod_text("gone", Container(name=f"gone-{number}", env=(EnvVar(name=str(number)),))))
    for pool in decoder.pools.values():
        pool.sweep()
    assert len(decoder.pools["$.spec.containers"]) == 1
    decoder.pools["$.spec.containers[].env"].sweep()  # freed only when the containers above were
    assert len(decoder.pools["$.spec.containers[].env"]) == 1
    again = decoder.decode(pod_text("again", Container(name="kept", env=ENV)))
    assert again.spec.containers is kept.spec.containers


def test_without_a_sweep_garbage_never_outgrows_what_is_in_use() -> None:
    pool = Pool(msgspec.json.Decoder(tuple[int, ...]).decode)
    kept = [pool.get(b"[%d]" % number) for number in range(1000)]
    for number in range(1000, 20_000):
        pool.get(b"[%d]" % number)
        assert len(pool) <= 2 * len(kept)


def test_a_part_in_use_is_never_forgotten() -> None:
    pool = Pool(msgspec.json.Decoder(tuple[int, ...]).decode)
    kept = pool.get(b"[1]")
    for number in range(2, 500):
        pool.get(b"[%d]" % number)
        pool.sweep()
    assert pool.get(b"[1]") is kept


@pytest.mark.parametrize("size", [1, 1000])
def test_no_text_can_be_aimed_at_a_known_hash(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """As under a PYTHONHASHSEED that an attacker knows: what is hashed begins with a secret."""
    seen: list[bytes] = []

    def note(value: bytes) -> int:
        seen.append(value)
        return hash(value)

    monkeypatch.setattr("runtime.interning.hash", note, raising=False)
    pool = Pool(msgspec.json.Decoder(tuple[int, ...]).decode)
    one, two = (b"[%s]" % b",".join([digit] * size) for digit in (b"1", b"2"))
    assert pool.get(one) == (1,) * size
    assert pool.get(two) == (2,) * size
    assert pool.get(msgspec.Raw(one)) is pool.get(one)
    salts = {each.removesuffix(one).removesuffix(two) for each in seen}
    assert [len(salt) for salt in salts] == [32]


def test_a_finisher_looks_into_the_pool_by_the_same_secret() -> None:
    pool = Pool(msgspec.json.Decoder(tuple[int, ...]).decode)
    recall = pool.recall
    assert isinstance(recall, Recall)
    known = pool.get(b"[1]")
    assert recall(msgspec.Raw(b"[1]")) is known
    assert recall.known[hash(recall.salt + b"[1]")] is known
    assert len(recall.salt) == 32


def test_a_finisher_leaves_a_pool_that_rewrites_to_itself() -> None:
    pool = Pool(msgspec.json.Decoder(str).decode, bytes.lower)
    assert not isinstance(pool.recall, Recall)
    assert pool.recall(msgspec.Raw(b'"A"')) is pool.get(b'"a"')


def test_null_is_a_part_like_others() -> None:
    pool = Pool(msgspec.json.Decoder(int | None).decode)
    assert [pool.get(text) for text in (b"null", b"1", b"null")] == [None, 1, None]


def test_a_rewrite_makes_texts_equal_that_differ_in_a_random_name() -> None:
    decoder = InterningDecoder(
        Pod,
        intern=("spec.containers", "spec.containers[].env", "spec.affinity"),
        rewrite={"spec.containers": lambda text: re.sub(rb'"token-[0-9]+"', b'"token"', text)},
    )
    first, second = (
        decoder.decode(
            pod_text(f"token-{n}", Container(name=f"token-{n}", env=ENV), affinity=Affinity(zone=f"token-{n}"))
        )
        for n in (1, 2)
    )
    assert first.spec.containers is second.spec.containers
    assert first.spec.containers == (Container(name="token", env=ENV),)
    assert second.spec.affinity == Affinity(zone="token-2")
    assert second.metadata.name == "token-2"


def test_a_rewrite_of_what_is_not_interned_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"not interned: \$\.spec\.affinity"):
        InterningDecoder(Pod, intern=("spec",), rewrite={"spec.affinity": bytes.lower})


def varying_decoder(**options: Any) -> InterningDecoder[Pod]:
    return InterningDecoder(Pod, intern=("spec", "spec.containers"), vary=("spec.nodeName",), **options)


def test_parts_that_vary_in_a_name_are_equal_to_plainly_decoded_ones() -> None:
    decoder = varying_decoder()
    for name in ("", "n1", "n2", "n1", "n\u00f6de", 'with "quotes"', "n3"):
        made = text(Pod(spec=PodSpec(node_name=name, containers=(Container(name="c", env=ENV),), priority=7)))
        found = decoder.decode(made)
        assert found == decoder_of(Pod).decode(made)
        assert type(found.spec) is PodSpec
        assert decoder.decode(made).spec is found.spec


def test_parts_that_vary_share_what_they_have_in_common_and_the_name() -> None:
    decoder = varying_decoder()
    texts = [
        text(Pod(spec=PodSpec(node_name=node, containers=(Container(name="c"),), priority=number)))
        for node, number in (("n1", 1), ("n2", 1), ("n2", 2))
    ]
    first, second, third = map(decoder.decode, texts)
    assert first.spec.containers is second.spec.containers
    assert second.spec.node_name is third.spec.node_name == "n2"


def test_a_part_that_varies_is_rewritten_before_it_is_compared() -> None:
    decoder = varying_decoder(rewrite={"spec": lambda raw: re.sub(rb"token-[0-9]+", b"token", raw)})
    specs = [
        decoder.decode(text(Pod(spec=PodSpec(node_name=f"n{n}", containers=(Container(name=f"token-{n}"),))))).spec
        for n in (1, 2, 3)
    ]
    assert [spec.node_name for spec in specs] == ["n1", "n2", "n3"]
    assert {id(spec.containers) for spec in specs} == {id(specs[0].containers)}
    assert specs[0].containers == (Container(name="token"),)


@pytest.mark.parametrize(
    ("intern", "vary", "problem"),
    [
        (("spec.containers",), ("spec.nodeName",), "varying, but not the only such field of an interned part"),
        (("spec",), ("spec.nodeName", "spec.other"), "only such field of an interned part: spec.other"),
        (("spec",), ("spec.node_name",), "has no text 'node_name'"),
        (("spec",), ("spec.priority",), "has no text 'priority'"),
        (("spec.containers",), ("spec.containers.name",), "has no text 'name'"),
    ],
)
def test_what_cannot_vary_is_an_error(intern: tuple[str, ...], vary: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        InterningDecoder(Pod, intern=intern, vary=vary)


WORDS = st.text(max_size=3)
CONTAINERS = st.lists(
    st.builds(
        Container,
        name=WORDS,
        env=st.lists(st.builds(EnvVar, name=WORDS, value=WORDS), max_size=2).map(tuple),
        limits=st.dictionaries(WORDS, WORDS, max_size=2),
    ),
    max_size=2,
).map(tuple)
PODS = st.builds(
    Pod,
    metadata=st.builds(Meta, name=WORDS, labels=st.dictionaries(WORDS, WORDS, max_size=2)),
    spec=st.builds(
        PodSpec,
        node_name=WORDS | st.sampled_from(["n1", "n2"]),
        containers=CONTAINERS,
        affinity=st.none() | st.builds(Affinity, zone=WORDS),
        node_selector=st.dictionaries(WORDS, WORDS, max_size=2),
    ),
)
DECODER = pod_decoder()
VARYING_DECODER = varying_decoder()


@given(st.lists(PODS, max_size=5))
def test_interning_changes_no_object(pods: list[Pod]) -> None:
    texts = [msgspec.json.encode(each) for each in pods]
    results = [DECODER.decode(text) for text in texts]
    assert [VARYING_DECODER.decode(text) for text in texts] == results
    plain: list[Any] = [msgspec.json.decode(text, type=Pod) for text in texts]
    assert results == plain
    by_spec: dict[bytes, int] = {}
    for each in results:
        where = id(each.spec.containers)
        assert by_spec.setdefault(msgspec.json.encode(each.spec.containers), where) == where


def test_interned_objects_stay_invisible_to_the_collector() -> None:
    pod = pod_decoder().decode(pod_text("a", Container(name="c", env=ENV)))
    assert not gc.is_tracked(pod)
    assert not gc.is_tracked(pod.spec)
