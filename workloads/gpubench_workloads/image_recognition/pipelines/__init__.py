"""The input pipelines by name. A new one, such as DALI, is a file here and an entry below."""

from __future__ import annotations

from gpubench.api.enums import InputPipeline as PipelineName
from gpubench_workloads.image_recognition.pipelines.data_loader import DataLoaderPipeline
from gpubench_workloads.image_recognition.pipelines.device_resident import DeviceResidentPipeline
from gpubench_workloads.image_recognition.pipelines.image_format import ImageFormat
from gpubench_workloads.image_recognition.pipelines.input_pipeline import (
    InputPipeline,
    PipelineSettings,
)

__all__ = ["PIPELINES", "ImageFormat", "InputPipeline", "PipelineSettings"]

PIPELINES: dict[PipelineName, type[InputPipeline]] = {
    PipelineName.DATA_LOADER: DataLoaderPipeline,
    PipelineName.DEVICE_RESIDENT: DeviceResidentPipeline,
}
