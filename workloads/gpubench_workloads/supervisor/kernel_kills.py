"""How often the kernel killed a process of ours for want of memory."""

from __future__ import annotations

from pathlib import Path

COUNTERS = (
    ("/sys/fs/cgroup/memory.events", "oom_kill"),
    ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"),
    ("/proc/vmstat", "oom_kill"),
)
"""cgroup v2, cgroup v1, and the whole machine where neither tells."""


def kernel_oom_kills() -> int:
    """Return the count so far; what matters is its difference over a run."""
    for path, name in COUNTERS:
        count = _read_counter(Path(path), name)
        if count is not None:
            return count
    return 0


def _read_counter(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return None
