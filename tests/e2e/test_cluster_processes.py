"""Processes of a cluster are found and ended, whatever happened to who started them."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import processes
from tests.e2e.cluster.builds import PROGRAMS, module_version
from tests.e2e.cluster.commands import ClusterError, run, wait_until


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    processes.kill(process.pid for process in processes.own_processes(tmp_path))


def test_a_process_is_found_by_its_mark_and_ended(state: Path) -> None:
    pid = processes.start(state, state / "log", ["sleep", "60"])
    assert processes.own_processes(state) == [processes.OwnProcess("sleep", pid)]
    assert processes.pids(state / "other", "sleep") == []
    processes.end(state, ["sleep"])
    assert processes.own_processes(state) == []


def test_one_that_will_not_end_is_killed(state: Path) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    command = [sys.executable, "-c", f"{script}; time.sleep(60)"]
    processes.start(state, state / "log", command)
    wait_until("deafness", lambda: (state / "log").stat().st_size > 0, timeout=10)
    processes.end(state, [Path(sys.executable).name], patience=0.3)
    assert processes.own_processes(state) == []


HOLDER = """
import socket, time
memory = bytearray(600 * 2**20)  # the kernel takes it back before it closes the socket
memory[::4096] = b"x" * len(memory[::4096])
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    time.sleep(60)
"""


def kill(state: Path, name: str) -> None:
    processes.kill(processes.pids(state, name))


def end(state: Path, name: str) -> None:
    processes.end(state, [name])


@pytest.mark.parametrize("way", [kill, end])
def test_one_that_has_ended_holds_its_port_no_more(
    state: Path, way: Callable[[Path, str], None]
) -> None:
    log = state / "log"
    processes.start(state, log, [sys.executable, "-c", HOLDER])
    wait_until("port", lambda: log.read_text().endswith("\n"), timeout=20)
    way(state, Path(sys.executable).name)
    with socket.create_server(("127.0.0.1", int(log.read_text()))):
        pass


def test_it_outlives_who_started_it_and_its_children_are_ours_too(state: Path) -> None:
    script = (
        "from pathlib import Path; from tests.e2e.cluster import processes;"
        f"processes.start(Path({str(state)!r}), Path({str(state / 'log')!r}),"
        "['sh', '-c', 'sleep 60; true'])"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    wait_until(
        "shell and its child",
        lambda: {process.name for process in processes.own_processes(state)} == {"sh", "sleep"},
        timeout=5,
    )


def test_the_end_of_the_log_tells_why_a_part_ended(state: Path) -> None:
    log = state / "log"
    processes.start(state, log, ["sh", "-c", "echo no such key >&2; exit 1"])
    wait_until("end", lambda: not processes.pids(state, "sh"), timeout=5)
    with pytest.raises(ClusterError, match="no such key"):
        processes.must_live(state, "sh", log)


def test_a_failing_command_tells_what_it_said() -> None:
    with pytest.raises(ClusterError, match=r"(?s)exit code 3: sh -c .*because"):
        run("sh", "-c", "echo because >&2; exit 3")


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(ClusterError, match="no-such-program is not installed"):
        run("no-such-program")


@pytest.mark.parametrize(
    ("module", "dependency"),
    [
        ("kubernetes", "k8s.io/kubernetes"),
        ("etcd", "go.etcd.io/etcd/server/v3"),
        ("training-operator", "github.com/kubeflow/training-operator"),
        ("helm", "helm.sh/helm/v3"),
    ],
)
def test_each_module_pins_its_component(module: str, dependency: str) -> None:
    assert module in PROGRAMS
    assert module_version(module, dependency).startswith("v")
