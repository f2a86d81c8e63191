from __future__ import annotations

import subprocess
import sys

HEAVY = ("altair", "polars", "jinja2", "vl_convert", "numpy", "torch")


def test_tables_and_the_terminal_need_no_heavy_library() -> None:
    code = (
        "import sys, gpubench.analysis, gpubench.analysis.plain, gpubench.analysis.markdown,"
        "gpubench.analysis.timeless;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
