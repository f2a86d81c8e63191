"""TuningPlan: all that is decided before the ranks meet, so that mistakes show in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.api.enums import CompileMode
from gpubench.api.llm_tuning import LLMTuning
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.llm_tuning.config import compose, sequence_length
from gpubench_workloads.llm_tuning.methods import METHODS, Method
from gpubench_workloads.llm_tuning.models import ARCHITECTURES, Architecture
from gpubench_workloads.llm_tuning.text import Text, plan_text
from gpubench_workloads.llm_tuning.weights import Weights, plan_weights
from gpubench_workloads.training.errors import BadSpecError

SCRATCH_FOLDER = "scratch"
"""Below the attempt's folder: what is made for a run, and its checkpoints; removed at its end."""
CACHE_FOLDER = f"{SCRATCH_FOLDER}/cache"
"""Where Hugging Face's datasets keeps the tables that it makes of text."""
WARMUP_STEPS_LEFT_OUT = 10
"""At most so many steps of the learning rate's rise are left out of steady-state numbers: a step
takes the same time at any learning rate."""


@dataclass(frozen=True)
class TuningPlan:
    """What a run is to do, the same on every rank; needs no torch."""

    spec: RunSpec
    workload: LLMTuning
    scratch: Path
    weights: Weights
    text: Text
    config: dict[str, Any]
    """The torchtune configuration."""

    @classmethod
    def make(cls, spec: RunSpec, attempt_folder: Path) -> TuningPlan:
        """Look for everything that the spec asks for, and check it.

        Raises:
            WorkloadError: something cannot be as the spec asks for it.
        """
        workload = spec.workload.llm_tuning
        assert workload is not None, "the supervisor starts each workload's own program"
        check_choices(workload)
        scratch = attempt_folder.absolute() / SCRATCH_FOLDER
        text = plan_text(spec, workload, scratch, sequence_length(workload))
        weights = plan_weights(spec, workload, scratch)
        config = compose(workload, spec.device, weights, text, scratch / "output")
        return cls(spec, workload, scratch, weights, text, config)

    @property
    def method(self) -> Method:
        """How it is tuned."""
        return METHODS[self.workload.method]

    @property
    def architecture(self) -> Architecture:
        """What is tuned."""
        return ARCHITECTURES[self.workload.model]

    @property
    def recipe(self) -> str:
        """Name of the recipe."""
        return self.method.recipe(self.spec.gpus)

    @property
    def is_distributed(self) -> bool:
        """Whether the recipe wants a process group."""
        return self.method.is_distributed(self.spec.gpus)

    @property
    def warmup_steps(self) -> int:
        """Steps that steady-state numbers leave out at the start."""
        return min(self.workload.warmup_steps, WARMUP_STEPS_LEFT_OUT)


def check_choices(workload: LLMTuning) -> None:
    """Check what goes with what.

    Raises:
        BadSpecError: something does not.
    """
    method, model = METHODS[workload.method], ARCHITECTURES[workload.model]
    if workload.packed and method.preference:
        msg = (
            f"packed: true does not go with method: {workload.method}, whose samples are pairs; "
            "allowed: packed: false"
        )
        raise BadSpecError(msg)
    if workload.compile is not CompileMode.DISABLED and not method.compiles:
        msg = (
            f"compile: {workload.compile} does not go with method: {workload.method}, which "
            "torchtune does not compile; allowed: Disabled"
        )
        raise BadSpecError(msg)
    if sequence_length(workload) > model.longest_sequence:
        msg = (
            f"sequenceLength: {workload.sequence_length} is longer than {workload.model} reads; "
            f"allowed: at most {model.longest_sequence}"
        )
        raise BadSpecError(msg)
