"""The example of docs/dcgm.md does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.integration.dcgm.exporters import running_exporter
from tests.integration.dcgm.gpus import gpu, uuid

PAGE = Path(__file__).parents[3] / "docs" / "dcgm.md"


def test_the_example_prints_each_gpu(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with running_exporter(tmp_path) as exporter:
        exporter.serve(gpus=[gpu(1, POWER_USAGE=250.0), gpu(2, POWER_USAGE=400.0)])
        command = [sys.executable, "-c", program, exporter.url]
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert output.stdout.splitlines() == [f"{uuid(1)} 1 250.0", f"{uuid(2)} 1 400.0"]
