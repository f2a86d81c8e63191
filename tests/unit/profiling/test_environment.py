"""What a profiler may see of the environment, and how a rank gets the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpubench_workloads.profiling.curtain import exposed_processes
from gpubench_workloads.profiling.environment import (
    add_environment,
    allowed_environment,
    is_allowed,
    pack_environment,
)

NEEDED_NAMES = [
    "PATH",
    "LD_LIBRARY_PATH",
    "HOME",
    "TMPDIR",
    "PYTHONPATH",
    "RANK",
    "MASTER_PORT",
    "CUDA_VISIBLE_DEVICES",
    "NCCL_DEBUG",
    "OMP_NUM_THREADS",
    "TORCHELASTIC_RUN_ID",
]
SECRET_NAMES = [
    "HF_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "NVIDIA_API_KEY",
    "NGC_API_KEY",
    "WANDB_API_KEY",
    "KUBECONFIG",
    "PGPASSWORD",
    "PYTHON_KEYRING_PASSWORD",
    "TORCH_HUB_TOKEN",
    "NCCL_SECRET",
]


@pytest.mark.parametrize(
    "name",
    NEEDED_NAMES,
)
def test_what_programs_and_ranks_are_found_by_is_allowed(name: str) -> None:
    assert is_allowed(name)


@pytest.mark.parametrize(
    "name",
    SECRET_NAMES,
)
def test_secrets_are_not(name: str) -> None:
    assert not is_allowed(name)


def test_only_allowed_variables_are_left() -> None:
    assert allowed_environment({"PATH": "/bin", "HF_TOKEN": "s"}) == {"PATH": "/bin"}


def test_the_rest_arrives_whole_and_overwrites_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBENCH_TEST_KEPT", "here")
    monkeypatch.setenv("GPUBENCH_TEST_NEW", "to be removed after the test")
    del os.environ["GPUBENCH_TEST_NEW"]
    file = pack_environment({"GPUBENCH_TEST_NEW": "a=b\nc ü \udcff", "GPUBENCH_TEST_KEPT": "there"})
    add_environment(file)
    assert os.environ["GPUBENCH_TEST_NEW"] == "a=b\nc ü \udcff"
    assert os.environ["GPUBENCH_TEST_KEPT"] == "here"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


HIDING = """
import os, sys
from gpubench_workloads.profiling.curtain import hide_environment
hide_environment()
assert os.environ["HF_TOKEN"] == "planted", "lost to itself"
print(open("/proc/self/environ", "rb").read().strip(b"\\0"))
import subprocess
print(subprocess.check_output(["sh", "-c", "echo $HF_TOKEN"], text=True).strip())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_hidden_environment_is_lost_to_others_only() -> None:
    environment = os.environ | {"HF_TOKEN": "planted"}
    seen, inherited = subprocess.check_output(
        [sys.executable, "-c", HIDING], env=environment, text=True
    ).splitlines()
    assert seen == "b''"
    assert inherited == "planted"


CURTAIN = """
import os, subprocess, sys
from gpubench_workloads.profiling.curtain import draw_curtain
draw_curtain()
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
LOOKING = "from gpubench_workloads.profiling import curtain; print(curtain.exposed_processes())"


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_nothing_behind_the_curtain_can_look_out() -> None:
    environment = allowed_environment(os.environ)
    with subprocess.Popen(["sleep", "60"], env={"HF_TOKEN": "planted"}) as exposed:
        try:
            while exposed.pid not in exposed_processes():
                time.sleep(0.01)  # the kernel shows its environment a moment after it has begun
            found = subprocess.check_output(
                [sys.executable, "-c", CURTAIN, LOOKING], env=environment, text=True
            )
        finally:
            exposed.kill()
    if str(exposed.pid) in found and os.environ.get("CI") != "true":
        pytest.skip("this kernel has no Landlock")
    assert found.strip() == "[]"


MOVING = """
import os, sys
os.rename("a/file", "b/file"); os.link("b/file", "a/file"); os.mkfifo("a/pipe")
"""


def test_the_curtain_forbids_nothing_else(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "file").touch()
    subprocess.run([sys.executable, "-c", CURTAIN, MOVING], cwd=tmp_path, check=True)
    assert (tmp_path / "b" / "file").exists()
