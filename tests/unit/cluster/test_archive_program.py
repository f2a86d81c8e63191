"""The program that sends a volume's files, run as the pod runs it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from importlib.resources import files
from pathlib import Path

from gpubench.cluster.archive_program import NOT_THERE

PROGRAM = files("gpubench.cluster").joinpath("archive_program.py").read_text("utf-8")


def send(folder: Path, left_out: list[str]) -> tuple[int, int, dict[str, bytes]]:
    """Return the exit code, the bytes that were announced, and what came by name."""
    done = subprocess.run(
        # -I -S: no more of Python than any image has.
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder)],
        input=f"{json.dumps(left_out)}\n".encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return done.returncode, 0, {}
    came = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            came[member.name] = content.read()
    return 0, int(done.stderr), came


def test_files_of_attempts_and_nothing_else(tmp_path: Path) -> None:
    for name in ("run-1/attempt-1", "run-1/attempt-2/ranks", "run-2/attempt-1"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "log").write_bytes(name.encode())
    (tmp_path / "benchmark.json").write_text("{}", encoding="utf-8")
    (tmp_path / "run-2/attempt-1/passwd").symlink_to("/etc/passwd")
    code, announced, came = send(tmp_path, ["run-1/attempt-1"])
    assert code == 0
    assert came == {
        "run-1/attempt-2/ranks/log": b"run-1/attempt-2/ranks",
        "run-2/attempt-1/log": b"run-2/attempt-1",
    }
    assert announced == sum(len(content) for content in came.values())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert send(tmp_path / "nothing", [])[0] == NOT_THERE
