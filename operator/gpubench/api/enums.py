"""The words that a spec, a status and a result may use, exactly as users write them."""

from __future__ import annotations

from enum import StrEnum


class WorkloadKind(StrEnum):
    """The two training programs."""

    IMAGE_RECOGNITION = "imageRecognition"
    LLM_TUNING = "llmTuning"


class Strategy(StrEnum):
    """How data is split over GPUs (Lawenda et al. 2025, section 3.2)."""

    DATA_PARALLEL = "DataParallel"
    DDP = "DDP"
    DDP_RR = "DDP-RR"
    DDP_DS = "DDP-DS"


class Precision(StrEnum):
    """The number format of the arithmetic."""

    FP64 = "FP64"
    FP32 = "FP32"
    TF32 = "TF32"
    BF16 = "BF16"
    FP16 = "FP16"


class Casting(StrEnum):
    """How a precision below FP32 is applied."""

    AUTO = "Auto"
    PURE = "Pure"
    AUTOCAST = "Autocast"


class InputPipeline(StrEnum):
    """How images reach the device."""

    DATA_LOADER = "DataLoader"
    DEVICE_RESIDENT = "DeviceResident"


class MemoryFormat(StrEnum):
    """The order of a batch's dimensions in memory."""

    CONTIGUOUS = "Contiguous"
    CHANNELS_LAST = "ChannelsLast"


class CompileMode(StrEnum):
    """What `torch.compile` does to the training step."""

    DISABLED = "Disabled"
    DEFAULT = "Default"
    REDUCE_OVERHEAD = "ReduceOverhead"
    MAX_AUTOTUNE = "MaxAutotune"


class Optimizer(StrEnum):
    """The optimizers a workload offers."""

    ADAM = "Adam"
    ADAMW = "AdamW"
    SGD = "SGD"


class Evaluation(StrEnum):
    """When the test set is evaluated."""

    AT_END = "AtEnd"
    EVERY_EPOCH = "EveryEpoch"
    DISABLED = "Disabled"


class DatasetName(StrEnum):
    """Every dataset of both workloads."""

    DIGITS = "digits"
    MNIST = "mnist"
    IDX = "idx"
    IMAGE_FOLDER = "image-folder"
    ALPACA_CLEANED = "alpaca-cleaned"
    GRAMMAR = "grammar"
    SAMSUM = "samsum"
    SLIMORCA = "slimorca"
    PREFERENCE = "preference"


class Download(StrEnum):
    """Whether a run may fetch its dataset."""

    IF_MISSING = "IfMissing"
    NEVER = "Never"


class TuningMethod(StrEnum):
    """How an LLM is tuned."""

    LORA = "LoRA"
    QLORA = "QLoRA"
    DPO = "DPO"
    LORA_DPO = "LoRA-DPO"
    FULL = "Full"
    QAT = "QAT"
    QAT_LORA = "QAT-LoRA"


class LanguageModel(StrEnum):
    """Llamas that can be tuned."""

    TINY_LLAMA = "tiny-llama"
    LLAMA3_8B = "llama3-8b"
    LLAMA3_1_8B = "llama3.1-8b"
    LLAMA3_2_1B = "llama3.2-1b"
    LLAMA3_2_3B = "llama3.2-3b"
    LLAMA2_7B = "llama2-7b"


class ActivationCheckpointing(StrEnum):
    """Whether activations are kept or computed again in the backward pass."""

    DISABLED = "Disabled"
    FULL = "Full"


class WeightsSource(StrEnum):
    """Where an LLM's weights come from."""

    FOLDER = "Folder"
    RANDOM = "Random"


class TextSource(StrEnum):
    """Where an LLM's dataset comes from."""

    FOLDER = "Folder"
    SYNTHETIC = "Synthetic"


class RunOrder(StrEnum):
    """In which order the runs of a sweep start."""

    DECLARED = "Declared"
    SHUFFLED = "Shuffled"
    GROUPED = "Grouped"


class Backend(StrEnum):
    """Which Kubernetes object executes a run."""

    PYTORCH_JOB = "PyTorchJob"
    JOB = "Job"
    TRAIN_JOB = "TrainJob"


class ImagePullPolicy(StrEnum):
    """When a node pulls the image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Isolation(StrEnum):
    """Whether a run shares its node with other runs."""

    EXCLUSIVE_NODE = "ExclusiveNode"
    SHARED = "Shared"


class Cleanup(StrEnum):
    """Which finished jobs are deleted."""

    ALWAYS = "Always"
    ON_SUCCESS = "OnSuccess"
    NEVER = "Never"


class NsysMode(StrEnum):
    """What Nsight Systems covers."""

    DISABLED = "Disabled"
    WINDOW = "Window"
    WHOLE = "Whole"


class NsysTrace(StrEnum):
    """What Nsight Systems traces."""

    CUDA = "cuda"
    NVTX = "nvtx"
    OSRT = "osrt"
    CUDNN = "cudnn"
    CUBLAS = "cublas"


class KeepReports(StrEnum):
    """Which profiler reports stay in the results folder after they are reduced."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class AcceptanceMetric(StrEnum):
    """What an acceptance rule may look at."""

    ACCURACY = "accuracy"
    FINAL_LOSS = "finalLoss"
    THROUGHPUT = "throughput"
    ITERATION_SECONDS = "iterationSeconds"


class DeviceKind(StrEnum):
    """What a run trains on."""

    CPU = "CPU"
    CUDA = "CUDA"


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ValidityStatus(StrEnum):
    """Whether a result may be used."""

    VALID = "Valid"
    INVALID = "Invalid"


class GateName(StrEnum):
    """The checks that make a result valid or not."""

    STEADY_STEPS = "SteadySteps"
    """Enough steady steps for a mean and percentiles."""
    LOSS_FINITE = "LossFinite"
    """The training loss is a number in every epoch."""
    ACCEPTANCE = "Acceptance"
    """A bound of `spec.results.acceptance` is kept."""
    CLOCKS = "Clocks"
    """No GPU's clocks were held down by heat or power supply."""
    EXCLUSIVE_DEVICE = "ExclusiveDevice"
    """No process of others was on the GPUs."""
    WORK_DONE = "WorkDone"
    """Every rank did all epochs, in the same number of steps."""
    PROFILE = "Profile"
    """The profile that was asked for is there."""
    XID = "Xid"
    """The driver reported no XID error on the run's GPUs."""


class TelemetryJoin(StrEnum):
    """How GPUs were found to be a run's."""

    POD = "Pod"
    """The exporter named the run's pod."""
    GPU_UUID = "GpuUuid"
    """The run named its GPUs, and the exporter had no pod of others on them at that time."""


class EnergySource(StrEnum):
    """Where an energy comes from."""

    COUNTER = "Counter"
    """The GPU's own counter."""
    POWER = "Power"
    """Power over time, by the trapezoidal rule."""


class FailureClass(StrEnum):
    """Why an attempt failed; decides whether the run is tried again."""

    BAD_SPEC = "BadSpec"
    """The spec cannot be run: an unknown model, a dataset too small for the batch size."""
    DATA_MISSING = "DataMissing"
    """The dataset is not there, cut, or not what it should be."""
    NON_FINITE_LOSS = "NonFiniteLoss"
    """The loss or a weight became infinite or not a number."""
    OUT_OF_MEMORY = "OutOfMemory"
    """The GPU's or the machine's memory was not enough."""
    ENVIRONMENT = "Environment"
    """The machine lacks something: GPUs, disk, shared memory."""
    TIMEOUT = "Timeout"
    """Not finished after `timeoutSeconds`."""
    NO_PROGRESS = "NoProgress"
    """No step finished for `noProgressSeconds`."""
    CRASH = "Crash"
    """A rank ended with an error of its own; the log has it."""
    KILLED = "Killed"
    """A rank or the supervisor was killed from outside."""
    PREEMPTED = "Preempted"
    """Asked to stop: Ctrl-C, suspension, eviction."""
    NODE_LOST = "NodeLost"
    """The node is gone."""
    RESULT_MISSING = "ResultMissing"
    """It ended without a whole result."""


class BenchmarkPhase(StrEnum):
    """Where a benchmark stands."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    FAILED = "Failed"


class RunPhase(StrEnum):
    """Where a run stands."""

    PENDING = "Pending"
    RUNNING = "Running"
    RETRYING = "Retrying"
    SUCCEEDED = "Succeeded"
    INVALID = "Invalid"
    FAILED = "Failed"


class AttemptState(StrEnum):
    """Where an attempt stands."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Family(StrEnum):
    """Groups of profiler events; the first seven are Table 1 of Lawenda et al. 2025."""

    MEMCPY_HOST_TO_DEVICE = "memcpyHostToDevice"
    CUDA_LAUNCH_KERNEL = "cudaLaunchKernel"
    CUDA_STREAM_SYNCHRONIZE = "cudaStreamSynchronize"
    NCCL_ALL_GATHER = "ncclAllGather"
    CUDA_EVENT_SYNCHRONIZE = "cudaEventSynchronize"
    CUDA_EVENT_DESTROY = "cudaEventDestroy"
    CUDA_MEMCPY_ASYNC = "cudaMemcpyAsync"
    NCCL_ALL_REDUCE = "ncclAllReduce"
    NCCL_BROADCAST = "ncclBroadcast"
    NCCL_REDUCE_SCATTER = "ncclReduceScatter"
    NCCL_REDUCE = "ncclReduce"
    NCCL_SEND_RECV = "ncclSendRecv"
    NCCL_OTHER = "ncclOther"
    MEMCPY_DEVICE_TO_HOST = "memcpyDeviceToHost"
    MEMCPY_DEVICE_TO_DEVICE = "memcpyDeviceToDevice"
    MEMCPY_PEER_TO_PEER = "memcpyPeerToPeer"
    MEMCPY_OTHER = "memcpyOther"
    MEMSET = "memset"
    CUDA_DEVICE_SYNCHRONIZE = "cudaDeviceSynchronize"
    CUDA_EVENT_RECORD = "cudaEventRecord"
    CUDA_MEMCPY = "cudaMemcpy"
    CUDA_MEMSET_ASYNC = "cudaMemsetAsync"
    CUDA_MALLOC = "cudaMalloc"
    CUDA_FREE = "cudaFree"
    CUDA_HOST_ALLOC = "cudaHostAlloc"
    CUDA_GRAPH_LAUNCH = "cudaGraphLaunch"
    CUDNN = "cudnn"
    CUBLAS = "cublas"
    OS_RUNTIME_WAIT = "osRuntimeWait"
    OS_RUNTIME_CALL = "osRuntimeCall"
    COMPUTE_KERNEL = "computeKernel"
    OTHER_API = "otherApi"


class ProfiledKind(StrEnum):
    """What a profiler saw."""

    API = "Api"
    KERNEL = "Kernel"
    COPY = "Copy"
    MEMSET = "Memset"
    LIBRARY = "Library"
    OS_RUNTIME = "OsRuntime"
    RANGE = "Range"
