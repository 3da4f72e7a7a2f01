"""Resources and annotations of shared devices; other vendors' device plugins read and write them too."""

from __future__ import annotations

from typing import Final

# Shared GPUs.
GPU_MEMORY_RESOURCE: Final = "volcano.sh/gpu-memory"
GPU_NUMBER_RESOURCE: Final = "volcano.sh/gpu-number"
GPU_INDEX_ANNOTATION: Final = "volcano.sh/gpu-index"  # on a pod: cards, comma separated
GPU_UNHEALTHY_IDS_ANNOTATION: Final = "volcano.sh/gpu-unhealthy-ids"  # on a node: cards, comma separated
PREDICATE_TIME_ANNOTATION: Final = "volcano.sh/predicate-time"  # Unix nanoseconds
LEGACY_PREDICATE_TIME_ANNOTATION: Final = "predicate-time"  # the same for Ascend devices

# vGPUs.
VGPU_NUMBER_RESOURCE: Final = "volcano.sh/vgpu-number"
VGPU_MEMORY_RESOURCE: Final = "volcano.sh/vgpu-memory"  # MB
VGPU_MEMORY_PERCENTAGE_RESOURCE: Final = "volcano.sh/vgpu-memory-percentage"
VGPU_CORES_RESOURCE: Final = "volcano.sh/vgpu-cores"  # percent of a card
VGPU_REGISTER_ANNOTATION: Final = "volcano.sh/node-vgpu-register"  # on a node: its cards
VGPU_NODE_ANNOTATION: Final = "volcano.sh/vgpu-node"
VGPU_TIME_ANNOTATION: Final = "volcano.sh/vgpu-time"  # Unix seconds
VGPU_IDS_ANNOTATION: Final = "volcano.sh/vgpu-ids-new"  # what each container got
DEVICES_TO_ALLOCATE_ANNOTATION: Final = "volcano.sh/devices-to-allocate"  # the same, for the device plugin
BIND_TIME_ANNOTATION: Final = "volcano.sh/bind-time"  # Unix seconds
BIND_PHASE_ANNOTATION: Final = "volcano.sh/bind-phase"
VGPU_MODE_ANNOTATION: Final = "volcano.sh/vgpu-mode"  # wanted sharing mode: hami-core or mig
VGPU_USE_UUID_ANNOTATION: Final = "volcano.sh/vgpu-use-gpuuuid"  # only these cards
VGPU_NOUSE_UUID_ANNOTATION: Final = "volcano.sh/vgpu-nouse-gpuuuid"  # none of these cards
VGPU_PODGROUP_POLICY_ANNOTATION: Final = "volcano.sh/vgpu-podgroup-policy"  # spread: not beside the same group
USE_GPU_TYPE_ANNOTATION: Final = "nvidia.com/use-gputype"  # only cards of these types
NOUSE_GPU_TYPE_ANNOTATION: Final = "nvidia.com/nouse-gputype"  # no card of these types
VGPU_CONFIG_MAP: Final = "volcano-vgpu-device-config"
VGPU_CONFIG_KEY: Final = "device-config.yaml"

# Ascend NPUs by MindCluster.
NPU_CORE_KEY: Final = "huawei.com/npu-core"  # resource, and annotation that holds the choice
ASCEND_REAL_ANNOTATION: Final = "huawei.com/AscendReal"  # what the device plugin allocated
ASCEND_RING_CONTROLLER_LABEL: Final = "ring-controller.atlas"  # on a pod: the kind of chip it wants
ASCEND_SERVER_TYPE_LABEL: Final = "servertype"  # on a node
ASCEND_ACCELERATOR_LABEL: Final = "accelerator"  # on a node
ASCEND_CHIP_NAME_LABEL: Final = "node.kubernetes.io/npu.chip.name"  # on a node
VNPU_LEVEL_LABEL: Final = "vnpu-level"  # on a pod: low or high
VNPU_DVPP_LABEL: Final = "vnpu-dvpp"  # on a pod: yes, no or null

# Ascend NPUs by HAMi; the functions take the chip type's common word, such as Ascend310P.
VNPU_MODE_ANNOTATION: Final = "huawei.com/vnpu-mode"  # on a pod: hami-core for soft slicing
HAMI_VNPU_CORE_ANNOTATION: Final = "hami-vnpu-core"  # on a node: "true" when it slices softly
HAMI_NODE_ANNOTATION: Final = "hami.io/vgpu-node"
HAMI_TIME_ANNOTATION: Final = "hami.io/vgpu-time"
HAMI_BIND_PHASE_ANNOTATION: Final = "hami.io/bind-phase"
HAMI_BIND_TIME_ANNOTATION: Final = "hami.io/bind-time"
HAMI_LOCK_ANNOTATION: Final = "hami.io/mutex.lock"  # on a node: held while a pod is being bound

GPU_NODE_LOCK_ANNOTATION: Final = "gpu"  # on a node: lock of card memory sharing
VGPU_NODE_LOCK_ANNOTATION: Final = "hamivgpu"  # on a node: lock of vGPUs


class BindPhase:
    """Values of the bind phase annotations."""

    ALLOCATING: Final = "allocating"
    SUCCESS: Final = "success"


def hami_register_annotation(word: str) -> str:
    """On a node: its cards of one chip type, JSON."""
    return f"hami.io/node-register-{word}"


def hami_to_allocate_annotation(word: str) -> str:
    """On a pod: cards that the device plugin has to hand out."""
    return f"hami.io/{word}-devices-to-allocate"


def hami_allocated_annotation(word: str) -> str:
    """On a pod: cards that it got."""
    return f"hami.io/{word}-devices-allocated"


def hami_choice_annotation(word: str) -> str:
    """On a pod: cards and templates chosen for it, JSON."""
    return f"huawei.com/{word}"


def hami_use_annotation(word: str) -> str:
    """On a pod: only these cards."""
    return f"hami.io/use-{word}-uuid"


def hami_nouse_annotation(word: str) -> str:
    """On a pod: none of these cards."""
    return f"hami.io/no-use-{word}-uuid"
