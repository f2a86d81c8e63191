"""How names of events map to families. This file is the whole of that knowledge.

A name belongs to the first rule of its kind that matches all of it, once the suffixes are off with
which CUDA marks the version of an entry point (`_v7000`, `_v2`) or the kind of default stream that
it means (`_ptsz`, `_ptds`). Names that no rule knows go to the kind's last family and are listed by
name in the profile, so that nothing is lost.

Sources: the CUDA Runtime and Driver API references (functions), nccl's device code (kernels),
CUpti_ActivityMemcpyKind (copies), and what Nsight Systems traces as OS runtime.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpubench.api.enums import Family, ProfiledKind

_SUFFIXES = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")

_API_RULES: tuple[tuple[Family, str], ...] = (
    (Family.CUDA_LAUNCH_KERNEL, r"cu(da)?LaunchKernel(ExC|Ex)?"),
    (Family.CUDA_LAUNCH_KERNEL, r"cu(da)?LaunchCooperativeKernel(MultiDevice)?"),
    (Family.CUDA_LAUNCH_KERNEL, r"cu(da)?Launch|cuLaunchGrid(Async)?"),
    (Family.CUDA_GRAPH_LAUNCH, r"cu(da)?GraphLaunch"),
    (Family.CUDA_STREAM_SYNCHRONIZE, r"cu(da)?StreamSynchronize"),
    (Family.CUDA_EVENT_SYNCHRONIZE, r"cu(da)?EventSynchronize"),
    (Family.CUDA_DEVICE_SYNCHRONIZE, r"cuda(Device|Thread)Synchronize|cuCtxSynchronize"),
    (Family.CUDA_EVENT_RECORD, r"cu(da)?EventRecord(WithFlags)?"),
    (Family.CUDA_EVENT_DESTROY, r"cu(da)?EventDestroy"),
    (Family.CUDA_MEMCPY_ASYNC, r"cu(da)?Memcpy\w*Async"),
    (Family.CUDA_MEMCPY, r"cu(da)?Memcpy\w*"),
    (Family.CUDA_MEMSET_ASYNC, r"cu(da)?Memset\w*"),
    (Family.CUDA_HOST_ALLOC, r"cudaMallocHost|cudaHostAlloc|cudaHostRegister"),
    (Family.CUDA_HOST_ALLOC, r"cuMemAllocHost|cuMemHostAlloc|cuMemHostRegister"),
    (Family.CUDA_MALLOC, r"cudaMalloc\w*|cuMemAlloc\w*"),
    (Family.CUDA_FREE, r"cudaFree(Async|Array|MipmappedArray)?|cuMemFree(Async)?"),
)

# ncclDevKernel_AllReduce_Sum_f32_RING_LL since NCCL 2.18, ncclKernel_AllReduce_RING_LL_Sum_half and
# ncclAllReduceRingLLKernel_sum_f32 before. `(?:void )?` is how a profiler writes a template.
_NCCL = r"(?:void )?nccl(?:(?:Symk?)?(?:Dev)?Kernel_)?"
_KERNEL_RULES: tuple[tuple[Family, str], ...] = (
    (Family.NCCL_ALL_GATHER, _NCCL + r"AllGather.*"),
    (Family.NCCL_ALL_REDUCE, _NCCL + r"AllReduce.*"),
    (Family.NCCL_REDUCE_SCATTER, _NCCL + r"ReduceScatter.*"),
    (Family.NCCL_REDUCE, _NCCL + r"Reduce.*"),
    (Family.NCCL_BROADCAST, _NCCL + r"Broadcast.*"),
    (Family.NCCL_SEND_RECV, _NCCL + r"SendRecv.*"),
    # Such as ncclDevKernel_Generic, which may run any of them.
    (Family.NCCL_OTHER, r"(?:void )?nccl\w*Kernel.*"),
)

# Functions that give up the processor until something happens; others of those that are traced do
# work for the caller (files, memory, starting threads).
_OS_RULES: tuple[tuple[Family, str], ...] = tuple(
    (Family.OS_RUNTIME_WAIT, pattern)
    for pattern in (
        r"p?poll|p?select|epoll_p?wait2?",
        r"pthread_(cond_(timed|clock)?wait|join|timedjoin_np|barrier_wait)",
        r"pthread_(mutex|spin)_(timed|clock)?lock",
        r"pthread_rwlock_(timed|clock)?(rd|wr)lock",
        r"sem_(timed|clock)?wait|sem(timed)?op|futex",
        r"u?sleep|(clock_)?nanosleep|sched_yield",
        r"wait|wait3|wait4|waitid|waitpid",
        r"sigwait(info)?|sigtimedwait|sigsuspend|pause",
        r"mq_(timed)?(receive|send)|msgrcv|msgsnd",
        r"accept4?|recv(from|msg|mmsg)?",
    )
)

_RULES: dict[ProfiledKind, tuple[tuple[re.Pattern[str], Family], ...]] = {
    kind: tuple((re.compile(pattern), family) for family, pattern in rules)
    for kind, rules in {
        ProfiledKind.API: _API_RULES,
        ProfiledKind.KERNEL: _KERNEL_RULES,
        ProfiledKind.OS_RUNTIME: _OS_RULES,
    }.items()
}
_REST = {
    ProfiledKind.API: Family.OTHER_API,
    ProfiledKind.KERNEL: Family.COMPUTE_KERNEL,
    ProfiledKind.OS_RUNTIME: Family.OS_RUNTIME_CALL,
}

# CUpti_ActivityMemcpyKind, and Nsight Systems' own kinds from 11 on for unified memory.
COPY_KINDS: dict[int, tuple[str, Family]] = {
    0: ("Unknown", Family.MEMCPY_OTHER),
    1: ("Host-to-Device", Family.MEMCPY_HOST_TO_DEVICE),
    2: ("Device-to-Host", Family.MEMCPY_DEVICE_TO_HOST),
    3: ("Host-to-Array", Family.MEMCPY_OTHER),
    4: ("Array-to-Host", Family.MEMCPY_OTHER),
    5: ("Array-to-Array", Family.MEMCPY_OTHER),
    6: ("Array-to-Device", Family.MEMCPY_OTHER),
    7: ("Device-to-Array", Family.MEMCPY_OTHER),
    8: ("Device-to-Device", Family.MEMCPY_DEVICE_TO_DEVICE),
    9: ("Host-to-Host", Family.MEMCPY_OTHER),
    10: ("Peer-to-Peer", Family.MEMCPY_PEER_TO_PEER),
    11: ("Unified Host-to-Device", Family.MEMCPY_OTHER),
    12: ("Unified Device-to-Host", Family.MEMCPY_OTHER),
    13: ("Unified Device-to-Device", Family.MEMCPY_OTHER),
}

COMMUNICATION = frozenset(family for family in Family if family.value.startswith("nccl"))
"""Families of kernels that move data between ranks."""


def plain_name(name: str) -> str:
    """Return the name of a function without the suffixes of its version and default stream."""
    return _SUFFIXES.sub("", name)


@lru_cache(maxsize=65536)
def family_of(kind: ProfiledKind, name: str) -> Family:
    """Return the family of a call or a kernel."""
    known = name if kind is ProfiledKind.KERNEL else plain_name(name)
    matching = (family for pattern, family in _RULES[kind] if pattern.fullmatch(known))
    return next(matching, _REST[kind])


def has_family(kind: ProfiledKind, name: str) -> bool:
    """Tell whether a rule knows the name; a kernel that does not communicate computes."""
    return kind is ProfiledKind.KERNEL or family_of(kind, name) is not _REST[kind]


def copy_family(kind: int) -> Family:
    """Return the family of a copy, by its kind's number; unknown kinds are other copies."""
    return COPY_KINDS.get(kind, COPY_KINDS[0])[1]


def copy_name(kind: int) -> str:
    """Return what Nsight Systems calls a copy, by its kind in numbers."""
    label = COPY_KINDS[kind][0] if kind in COPY_KINDS else f"Kind {kind}"
    return f"[CUDA memcpy {label}]"
