"""Print the GPUs that this process may use, as JSON: python -m gpubench_workloads.sampling."""

import json

from gpubench_workloads.sampling import nvml

print(json.dumps([{"uuid": gpu.uuid, "name": gpu.name} for gpu in nvml.visible_gpus()]))
