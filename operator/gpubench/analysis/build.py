"""The report of a benchmark: every section in its order."""

from __future__ import annotations

from gpubench import __version__
from gpubench.analysis.inputs import ReportInput, Verdict
from gpubench.analysis.parameters import display_value, has_meaning_when_unset, title_of
from gpubench.analysis.report import Note, Report, Section, Tally, Tone
from gpubench.analysis.sections.figures import charts_section
from gpubench.analysis.sections.origin import mixture_warnings, provenance_section
from gpubench.analysis.sections.problems import problems_section
from gpubench.analysis.sections.profiles import profiles_section
from gpubench.analysis.sections.published import published_section
from gpubench.analysis.sections.reproduction import reproduction_section
from gpubench.analysis.sections.results import results_sections
from gpubench.analysis.sections.runs import runs_section
from gpubench.analysis.study import Study, build_study
from gpubench.api.enums import WorkloadKind

_KINDS = {
    WorkloadKind.IMAGE_RECOGNITION: "Image recognition",
    WorkloadKind.LLM_TUNING: "LLM tuning",
}


def build_report(report_input: ReportInput) -> Report:
    """Return the report of a benchmark from its runs.

    A further section is one more function here.
    """
    study = build_study(report_input)
    sections: list[Section | None] = [
        *results_sections(study),
        charts_section(study),
        profiles_section(study),
        published_section(study),
        problems_section(study),
        runs_section(study),
        provenance_section(study),
        reproduction_section(study),
    ]
    return Report(
        title=report_input.benchmark.name,
        subtitle=_KINDS[report_input.benchmark.spec.workload.kind],
        generated_at=report_input.generated_at,
        source=report_input.source,
        gpubench_version=__version__,
        tally=_tally(study),
        facts=_facts(study),
        warnings=tuple(_warnings(study)),
        sections=tuple(section for section in sections if section),
    )


def _tally(study: Study) -> Tally:
    counts = study.verdicts
    return Tally(
        total=len(study.input.runs),
        valid=counts[Verdict.VALID],
        invalid=counts[Verdict.INVALID],
        failed=counts[Verdict.FAILED],
        missing=counts[Verdict.MISSING],
    )


def _facts(study: Study) -> tuple[tuple[str, str], ...]:
    """Return the devices and every parameter that is the same for all runs."""
    devices = "; ".join(device.label for device in study.devices) or "not known yet"
    titles = {
        name: title_of(name, on_cpu=study.is_on_cpu) for name in (*study.axes, *study.constants)
    }
    varied = ", ".join(titles[axis] for axis in study.axes) or "nothing"
    constants = [
        (titles[name], display_value(name, value))
        for name, value in study.constants.items()
        if value is not None or has_meaning_when_unset(name)
    ]
    return (("Device", devices), ("Varied", varied), *constants)


def _warnings(study: Study) -> list[Note]:
    warnings = []
    if len(study.devices) > 1:
        names = ", ".join(device.label for device in study.devices)
        text = f"{names}. Each has tables of its own; nothing is averaged or compared across."
        warnings.append(Note(text, Tone.WARNING, title="Several devices"))
    return warnings + mixture_warnings(study)
