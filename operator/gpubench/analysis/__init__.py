"""Results as tables, statistics, charts and pages. Pure: values in, values or text out.

    inputs.py -> study.py (points) -> build.py (sections of report.py) -> markdown, page, plain
                                                                       -> frame (one row per run)

Renderers import their own libraries, so that tables alone stay light.
"""

from gpubench.analysis.build import build_report
from gpubench.analysis.inputs import ReportInput, ReportRun, Verdict
from gpubench.analysis.report import Report

__all__ = ["Report", "ReportInput", "ReportRun", "Verdict", "build_report"]
