"""Ranks as a run starts them, under torchrun; and cheaper ways for what does not depend on it."""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import polars as pl

from gpubench.api.layout import RUN_SPEC_FILE
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition.__main__ import main
from gpubench_workloads.image_recognition.run import run_rank
from gpubench_workloads.reporting.rank_report import (
    RankReport,
    rank_steps_path,
    read_rank_report,
)

PROGRAM = "gpubench_workloads.image_recognition"


@dataclass(frozen=True)
class Trained:
    """What the ranks of a run left behind."""

    folder: Path
    reports: list[RankReport]
    steps: list[pl.DataFrame]


def write_spec(folder: Path, spec: RunSpec) -> Path:
    """Make an attempt's folder and return the path of its spec."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUN_SPEC_FILE
    path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    return path


def train_here(folder: Path, spec: RunSpec) -> Trained:
    """Run the only rank of a run in this process, which saves the time to load torch."""
    run_rank(write_spec(folder, spec), folder)
    return trained(folder, ranks=1)


def torchrun_command(folder: Path, spec: RunSpec) -> list[str]:
    """Return the command that starts all ranks; the spec is written for it."""
    path = write_spec(folder, spec)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    ranks = [f"--nproc-per-node={spec.gpus}", "-m", PROGRAM]
    return [*torchrun, *ranks, "--spec", str(path), "--output", str(folder)]


def train_under_torchrun(folder: Path, spec: RunSpec) -> Trained:
    """Run all ranks to their end as the supervisor does."""
    result = subprocess.run(
        torchrun_command(folder, spec),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    return trained(folder, spec.gpus)


def train(folder: Path, spec: RunSpec) -> Trained:
    """Run all ranks to their end, forked from a process that has loaded torch already."""
    ranks = start_ranks(folder, spec)
    for rank in ranks:
        rank.join()
    assert [rank.exitcode for rank in ranks] == [0] * spec.gpus
    return trained(folder, spec.gpus)


def start_ranks(folder: Path, spec: RunSpec) -> list[ForkServerProcess]:
    """Start all ranks as `train` does."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([run_rank.__module__])
    path = write_spec(folder, spec)
    port = free_port()
    ranks = [
        context.Process(target=run_forked, args=(path, folder, rank, spec.gpus, port))
        for rank in range(spec.gpus)
    ]
    for rank in ranks:
        rank.start()
    return ranks


def run_forked(path: Path, folder: Path, rank: int, ranks: int, port: int) -> None:
    """Do what a rank does, told by torchrun's environment variables who it is."""
    environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in environment.items()})
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    sys.exit(main(["--spec", str(path), "--output", str(folder)]))


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def rank_command(folder: Path, spec: RunSpec) -> list[str]:
    """Return the command that starts the only rank of a run."""
    path = write_spec(folder, spec)
    return [sys.executable, "-m", PROGRAM, "--spec", str(path), "--output", str(folder)]


def trained(folder: Path, ranks: int) -> Trained:
    """Read what all ranks left behind."""
    reports = [read_rank_report(folder, rank) for rank in range(ranks)]
    steps = [pl.read_parquet(rank_steps_path(folder, rank)) for rank in range(ranks)]
    return Trained(folder, [report for report in reports if report is not None], steps)
