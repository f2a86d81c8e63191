"""Every way in which a profile can go wrong, with a real nsys: the training's result stands."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gpubench.api.enums import FailureClass
from gpubench.api.layout import RESULT_FILE
from gpubench.api.result import RunResult
from gpubench_workloads.profiling.reduction import ReductionError, reduce_reports
from tests.integration.profiling.runs import (
    profile_gate,
    run_spec,
    run_to_end,
    supervised,
    valid_result,
)

pytestmark = pytest.mark.slow
SPEC = run_spec(1, mode="Window", steps=10, keepReports="Never")
LONGEST = run_spec(1, mode="Window", steps=22, keepReports="Never")
"""Its window is long enough for a kill to fall into it."""
PATIENCE_SECONDS = 120


def disturbed_nsys(folder: Path, nsys: Path, before: str = "", after: str = "") -> Path:
    """Return an nsys that is the real one, but for what is done before and after it profiles."""
    script = folder / "nsys"
    script.write_text(
        "#!/bin/bash\n"
        "for argument; do [[ $argument != --output=* ]] || report=${argument#*=}.nsys-rep; done\n"
        f"[[ $1 != profile ]] || {{ {before or ':'}; }}\n"
        f'"{nsys}" "$@"\ncode=$?\n'
        f"[[ $1 != profile ]] || {{ {after or ':'}; }}\n"
        "exit $code\n"
    )
    script.chmod(0o755)
    return script


def message_of(result: RunResult) -> str:
    gate = profile_gate(result)
    assert not gate.passed
    return gate.message


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ('rm "$report"', "nsys left no report"),
        (': > "$report"', "nsys left an empty report"),
        ('truncate --size=30000 "$report"', "nsys"),
    ],
    ids=["missing", "empty", "truncated"],
)
def test_a_report_that_is_lost(tmp_path: Path, nsys: Path, after: str, said: str) -> None:
    result = run_to_end(tmp_path / "run", SPEC, disturbed_nsys(tmp_path, nsys, after=after))
    assert result.profile is None
    assert said in message_of(result)
    assert "\n" not in message_of(result)


def test_an_nsys_that_does_not_start(tmp_path: Path, nsys: Path) -> None:
    broken = disturbed_nsys(tmp_path, nsys, before="exit 3")
    result = run_to_end(tmp_path / "run", SPEC, broken)
    assert result.profile is not None
    assert result.profile.source == "Kineto"
    assert "by torch.profiler: nsys did not start: exit code 3" in profile_gate(result).message


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_disk_that_is_full(tmp_path: Path, nsys: Path) -> None:
    reports = tmp_path / "run" / "profile"
    reports.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "reports", reports], check=True)
    try:
        result = run_to_end(tmp_path / "run", SPEC, nsys)
    finally:
        subprocess.run(["umount", "--lazy", reports], check=True)
    assert result.profile is None
    assert "nsys" in message_of(result)


def is_client(line: str) -> bool:
    return "nsys profile" in line and "keeper" not in line


def is_agent(line: str) -> bool:
    return "--start-agent" in line


def is_launcher(line: str) -> bool:
    return "nsys-launcher" in line


def descendants(process: subprocess.Popen[str]) -> list[tuple[psutil.Process, str]]:
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            found.append((child, " ".join(child.cmdline())))
        except psutil.Error:
            continue
    return found


def wait_for(said: str, folder: Path) -> None:
    """Wait until the nsys of the only rank has said something."""
    log = folder / "ranks" / "nsys-0.log"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (log.exists() and said in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("moment", ["range started", "range ended"])
@pytest.mark.parametrize("part", [is_client, is_agent, is_launcher])
def test_a_profiler_that_is_killed(
    tmp_path: Path, nsys: Path, part: Callable[[str], bool], moment: str
) -> None:
    with supervised(tmp_path, LONGEST, nsys) as process:
        wait_for(moment, tmp_path)
        for child, line in descendants(process):
            if part(line):
                child.kill()
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    result = valid_result(tmp_path)
    gate = profile_gate(result)
    # What was recorded may have been whole before its part died.
    assert gate.passed is (result.profile is not None)
    assert gate.passed or "nsys" in gate.message
    assert wait_until_gone(tmp_path) == []


def wait_until_gone(folder: Path) -> list[str]:
    """Return the processes that still work for a folder after five seconds."""
    deadline = time.monotonic() + 5
    while True:
        left = [line for line in map(line_of, psutil.process_iter()) if str(folder) in line]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def line_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_supervisor_that_is_ended_leaves_nothing_running(
    tmp_path: Path, nsys: Path, number: signal.Signals
) -> None:
    with supervised(tmp_path, SPEC, nsys) as process:
        wait_for("range started", tmp_path)
        process.send_signal(number)
        process.wait(timeout=20)
        assert wait_until_gone(tmp_path) == []
    if number is signal.SIGTERM:
        result = RunResult.from_document((tmp_path / RESULT_FILE).read_text())
        assert result.failure is not None
        assert result.failure.failure_class is FailureClass.PREEMPTED


def slow_reader(folder: Path, does: str) -> Path:
    script = folder / "nsys"
    script.write_text(f"#!/bin/bash\n{does}\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("does", "seconds", "said"),
    [
        ("sleep 300", 3, "took longer than 3 s"),
        ("kill -KILL $PPID", 60, "ended by SIGKILL"),
        ("exit 1", 60, "rank-0.nsys-rep"),
    ],
)
def test_reading_that_fails_or_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, seconds: float, said: str
) -> None:
    monkeypatch.setenv("GPUBENCH_NSYS", str(slow_reader(tmp_path, does)))
    report = tmp_path / "rank-0.nsys-rep"
    report.write_bytes(b"no report at all")
    with pytest.raises(ReductionError, match=said):
        reduce_reports({0: report}, seconds, lambda: False)
    assert wait_until_gone(tmp_path) == []


def test_reading_ends_when_the_run_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBENCH_NSYS", str(slow_reader(tmp_path, "sleep 300")))
    report = tmp_path / "rank-0.nsys-rep"
    report.write_bytes(b"no report at all")
    started = time.monotonic()
    with pytest.raises(ReductionError, match="asked to stop"):
        reduce_reports({0: report}, 60, lambda: time.monotonic() - started > 1)
