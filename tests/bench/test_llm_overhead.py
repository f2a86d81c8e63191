"""What measuring costs: a tuning by gpubench against the stock `tune run` of its configuration.

Both run the same recipe with the same configuration, seed and threads, in turn, in processes of
their own. torchtune's log gives its rate of tokens that the loss counts; those tokens are known of
each step from our table, which gives torchtune's own time of the step.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import polars as pl
from omegaconf import OmegaConf

from gpubench.api.layout import RECIPE_FILE
from gpubench_workloads.llm_tuning.plan import TuningPlan
from gpubench_workloads.llm_tuning.run import prepare
from gpubench_workloads.reporting.rank_report import rank_steps_path
from tests.unit.llm_tuning.specs import tuning_spec

ROUNDS = 3
STEPS = 60
LEFT_OUT = 10
ALLOWED = 0.01
RATE = re.compile(r"tokens_per_second_per_gpu:(?:tensor\()?([\d.e+]+)")
SPEC = tuning_spec(
    dataset={"source": "Synthetic", "samples": 4 * STEPS},
    batchSize=4,
    sequenceLength=256,
    maxSteps=STEPS,
    gradientAccumulation=1,
)
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
}


def run(*command: str) -> None:
    """Run a command to its end."""
    environment = os.environ | ENVIRONMENT
    subprocess.run(command, check=True, capture_output=True, env=environment)


def ours(folder: Path) -> tuple[float, list[int]]:
    """Tune by gpubench; return the median time of a step and the counted tokens of all steps."""
    folder.mkdir()
    path = folder / "run.json"
    path.write_text(SPEC.model_dump_json(by_alias=True), encoding="utf-8")
    program = "gpubench_workloads.llm_tuning"
    run(sys.executable, "-m", program, "--spec", str(path), "--output", str(folder))
    steps = pl.read_parquet(rank_steps_path(folder, 0))
    seconds = steps["iteration_seconds"].to_list()[LEFT_OUT:]
    return statistics.median(seconds), steps["learned_tokens"].to_list()


def stock(folder: Path, tokens: list[int]) -> float:
    """Tune by torchtune's own command; return the median time of a step."""
    folder.mkdir()
    plan = TuningPlan.make(SPEC, folder)
    prepare(plan, folder)
    tune = str(Path(sys.executable).with_name("tune"))
    run(tune, "run", plan.recipe, "--config", str(folder / RECIPE_FILE))
    log = OmegaConf.load(folder / RECIPE_FILE).metric_logger
    text = (Path(log.log_dir) / log.filename).read_text(encoding="utf-8")
    rates = [float(rate) for rate in RATE.findall(text)]
    assert len(rates) == len(tokens) == STEPS
    seconds = [count / rate for count, rate in zip(tokens, rates, strict=True)]
    return statistics.median(seconds[LEFT_OUT:])


def test_our_wrapper_is_as_fast_as_tune_run(tmp_path: Path) -> None:
    measured, plain = [], []
    for number in range(ROUNDS):
        seconds, tokens = ours(tmp_path / f"ours-{number}")
        measured.append(seconds)
        plain.append(stock(tmp_path / f"stock-{number}", tokens))
    ratio = statistics.median(measured) / statistics.median(plain) - 1
    spread = (max(plain) - min(plain)) / statistics.median(plain)
    print(
        f"\nms per step, gpubench {[round(s * 1000, 2) for s in measured]}, "
        f"tune run {[round(s * 1000, 2) for s in plain]}: {ratio:+.2%}, "
        f"rounds of tune run differ by {spread:.2%}"
    )
    # On a machine that is not quiet, no more can be told than it repeats itself.
    assert ratio < max(ALLOWED, spread)
