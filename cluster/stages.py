"""
The configuration that makes kwok behave like our kubelets: `stages.yaml` with its placeholders filled in.

Expressions that several stages share stand here once. kwok asks for a delay again at every change of the pod, so a
delay is what remains until a fixed moment; and since pods note times in whole seconds, the moment is at most a second
late and never early.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import yaml

from cluster.annotations import EXIT_CODE, RUN_SECONDS, STOP_SECONDS

_PARALLELISM: Final = 16

_READABLE: Final = (
    ".metadata.annotations // {} | ["
    f'(.["{RUN_SECONDS}"], .["{STOP_SECONDS}"] | select(. != null) | test("^[0-9]{{1,9}}([.][0-9]+)?$")), '
    f'(.["{EXIT_CODE}"] | select(. != null) | test("^([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$"))'
    "] | all"
)

# From $noted (a moment cut to its second) and $seconds to a Go duration.
_REMAINING: Final = (
    "(now as $now | if $now - $noted < 1 then $seconds else $noted + 1 + $seconds - $now end) "
    '| [., 0] | max * 1000 | floor | tostring + "ms"'
)

# The status of a pod whose containers all ended with $code, as a template text.
_TERMINATED: Final = """\
{{ $now := Now }}
{{ $started := or .status.startTime $now }}
{{ $reason := ternary "Completed" "Error" (eq $code 0) }}
{{ $outcome := ternary "PodCompleted" "PodFailed" (eq $code 0) }}
phase: {{ ternary "Succeeded" "Failed" (eq $code 0) }}
conditions:
- {type: ContainersReady, status: "False", reason: {{ $outcome }}, lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "False", reason: {{ $outcome }}, lastTransitionTime: {{ $now | Quote }}}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: {{ ne (or .restartPolicy "") "Always" }}
  started: false
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $started | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  restartCount: 0
  ready: false
  started: false
  state: {terminated: {exitCode: {{ $code }}, reason: {{ $reason }}, startedAt: {{ $started | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
"""

_SETTINGS: Final[dict[str, Any]] = {
    "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
    "kind": "KwokConfiguration",
    "options": {
        "podPlayStageParallelism": _PARALLELISM,
        "nodePlayStageParallelism": _PARALLELISM,
        "nodeLeaseParallelism": _PARALLELISM,
        "podsOnNodeSyncParallelism": _PARALLELISM,
    },
}

_TEXTS: Final = {
    "@RUN_SECONDS@": RUN_SECONDS,
    "@EXIT_CODE@": EXIT_CODE,
    "@STOP_SECONDS@": STOP_SECONDS,
    "@READABLE@": _READABLE,
    "@REMAINING@": _REMAINING,
    "@TERMINATED@": _TERMINATED,
}


def stages() -> list[dict[str, Any]]:
    """Every stage, ready for kwok."""
    source = resources.files("cluster").joinpath("stages.yaml").read_text(encoding="utf-8")
    return [_filled(stage) for stage in yaml.safe_load_all(source) if stage]


def render() -> str:
    """The file that `kwok --config` reads: settings and stages."""
    return yaml.safe_dump_all([_SETTINGS, *stages()], sort_keys=False)


def _filled(value: Any) -> Any:
    """The same tree with every placeholder in its texts replaced."""
    if isinstance(value, dict):
        return {key: _filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    if isinstance(value, str):
        for placeholder, text in _TEXTS.items():
            value = value.replace(placeholder, text)
    return value
