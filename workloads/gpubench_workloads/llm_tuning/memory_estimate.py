"""How much memory a rank will need, by a stated formula, before anything is loaded. No torch.

With b bytes per number (BF16 2, FP32 4), P weights of which T are tuned, and R ranks that share
weights, gradients and moments equally (FSDP):

    weights      P b / R; of QLoRA, the layers' matrices take 0.516 bytes per weight (NF4: half a
                 byte, one byte per block of 64) and the rest b; DPO holds a second model
    gathered     2 L b where R > 1: the weights of two layers (L each) that FSDP brings together
    gradients    T b / R
    moments      2 T b / R: AdamW's two, kept in the weights' own format
    activations  for n tokens in a batch, of width W, feed-forward width F, over N layers:
                 n (10 W + 4 F) b for a layer as it is computed, times N without activation
                 checkpointing; with it, n W b for each layer's input besides
    logits       n V (2 b + 1) for a vocabulary V: logits, their gradients, and a chunk of an
                 eighth in FP32, twice; of DPO, which computes no chunks, n V (2 b + 8)

The first four are certain, and so is the number of tokens of packed batches. Otherwise a batch is
as long as its longest text, which nobody knows before: then only what is certain is held against
the memory that there is. Fragmentation and CUDA's own memory (about 1 GB) are left out, so that a
run is refused only if it cannot succeed.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.api.enums import ActivationCheckpointing, FailureClass, Precision, TuningMethod
from gpubench.api.llm_tuning import LLMTuning
from gpubench_workloads.llm_tuning.config import sequence_length
from gpubench_workloads.llm_tuning.flops import adapter_parameters
from gpubench_workloads.llm_tuning.methods import METHODS
from gpubench_workloads.llm_tuning.models import ARCHITECTURES
from gpubench_workloads.training.errors import WorkloadError

NF4_BYTES = 0.5 + 1 / 64
MOST_GPUS = 8
GIB = 2**30


class NotEnoughMemoryError(WorkloadError):
    """A rank cannot have the memory that it is certain to need."""

    failure_class = FailureClass.OUT_OF_MEMORY


@dataclass(frozen=True)
class MemoryEstimate:
    """The bytes that one rank needs."""

    weights: float
    gathered: float
    gradients: float
    moments: float
    batch: float
    """Activations and logits of the largest batch that the spec allows."""
    batch_is_certain: bool
    """Whether every batch is that large."""

    @property
    def certain(self) -> float:
        """What the run cannot do without."""
        fixed = self.weights + self.gathered + self.gradients + self.moments
        return fixed + (self.batch if self.batch_is_certain else 0.0)

    def describe(self) -> str:
        """Return the parts for a person."""
        parts = {
            "weights": self.weights + self.gathered,
            "gradients": self.gradients,
            "moments": self.moments,
            "a batch": self.batch if self.batch_is_certain else 0.0,
        }
        return ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items() if size)


def estimate_memory(workload: LLMTuning, ranks: int) -> MemoryEstimate:
    """Return what each of so many ranks needs."""
    architecture, method = ARCHITECTURES[workload.model], METHODS[workload.method]
    number = 4 if workload.precision is Precision.FP32 else 2
    matrices = architecture.layers * sum(architecture.layer_projections.values())
    rest = architecture.parameters - matrices
    adapters = adapter_parameters(architecture, workload.lora_rank) if method.adapters else 0
    weights = matrices * (NF4_BYTES if method.quantized_base else number)
    weights += (rest + adapters) * number
    tuned = adapters or architecture.parameters
    layer = sum(architecture.layer_projections.values()) * number
    return MemoryEstimate(
        weights=weights * (2 if method.reference_model else 1) / ranks,
        gathered=2 * layer if ranks > 1 else 0.0,
        gradients=tuned * number / ranks,
        moments=2 * tuned * number / ranks,
        batch=_batch_bytes(workload, number),
        batch_is_certain=workload.packed,
    )


def _batch_bytes(workload: LLMTuning, number: int) -> float:
    architecture, method = ARCHITECTURES[workload.model], METHODS[workload.method]
    rows = workload.batch_size * (2 if method.preference else 1)
    tokens = rows * sequence_length(workload)
    layer = tokens * (10 * architecture.width + 4 * architecture.feed_forward) * number
    if workload.activation_checkpointing is ActivationCheckpointing.FULL:
        activations = layer + architecture.layers * tokens * architecture.width * number
    else:
        activations = layer * architecture.layers
    upcast = 8 if method.preference else 1
    return activations + tokens * architecture.vocabulary * (2 * number + upcast)


def check_memory(workload: LLMTuning, ranks: int, available: float, place: str) -> None:
    """Check that a rank can have what it is certain to need.

    `available` are the bytes that one rank may take of `place`.

    Raises:
        NotEnoughMemoryError: it cannot; the message says by how much, and what would fit.
    """
    needed = estimate_memory(workload, ranks)
    if needed.certain <= available:
        return
    fitting = what_fits(workload, ranks, available)
    advice = f"would fit: {', '.join(fitting)}" if fitting else "nothing here would fit"
    msg = (
        f"model: {workload.model} with method: {workload.method} needs {needed.certain / GIB:.1f} "
        f"GiB on each rank ({needed.describe()}), {(needed.certain - available) / GIB:.1f} GiB "
        f"more than the {available / GIB:.1f} GiB of {place}; {advice}"
    )
    raise NotEnoughMemoryError(msg)


def what_fits(workload: LLMTuning, ranks: int, available: float) -> list[str]:
    """Return single changes of a spec after which a rank would have enough."""
    fields: list[tuple[str, dict[str, object]]] = [
        (
            "activationCheckpointing: Full",
            {"activation_checkpointing": ActivationCheckpointing.FULL},
        ),
        ("precision: BF16", {"precision": Precision.BF16}),
    ]
    if not METHODS[workload.method].preference:
        methods = (TuningMethod.LORA, TuningMethod.QLORA)
        fields += [(f"method: {method}", {"method": method}) for method in methods]
    sizes = [(f"batchSize: {n}", {"batch_size": n}) for n in _smaller(workload.batch_size)]
    changed = [(text, workload.model_copy(update=update)) for text, update in fields]
    smaller = [(text, workload.model_copy(update=update)) for text, update in sizes]

    def fits(candidate: LLMTuning, count: int = ranks) -> bool:
        return estimate_memory(candidate, count).certain <= available

    more = range(ranks + 1, MOST_GPUS + 1)
    return [
        *[text for text, candidate in smaller if fits(candidate)][:1],
        *[text for text, candidate in changed if fits(candidate)],
        *[f"gpus: {count}" for count in more if fits(workload, count)][:1],
    ]


def _smaller(batch_size: int) -> list[int]:
    """Return the halves of a batch size, the largest first."""
    sizes: list[int] = []
    while batch_size > 1:
        batch_size //= 2
        sizes.append(batch_size)
    return sizes
