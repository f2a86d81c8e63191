"""The report as one HTML page that opens without a network.

Everything is inside: style, script, data and the Vega bundle. A content security policy in the
page forbids every request, and every script that is not one of its own two.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

import jinja2
import vl_convert

from gpubench.analysis.drawing import draw, vega_lite_version
from gpubench.analysis.page.views import sort_key, table_view
from gpubench.analysis.report import Chart, Listing, Note, Report, Table

# From so many listings on, they are folded away together.
MANY_LISTINGS = 12


def render_page(report: Report) -> str:
    """Return the report as a complete HTML document."""
    charts = {chart.key: draw(chart) for chart in report.charts()}
    # Without charts the bundle, nearly a megabyte, would be dead weight.
    bundle = _vega_bundle() if charts else ""
    script = _resource("report.js")
    return _template().render(
        report=report,
        charts=charts,
        style=_resource("report.css"),
        scripts=[text for text in (bundle, script) if text],
        script_hashes=" ".join(_hash(text) for text in (bundle, script) if text),
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["table_view"] = table_view
    environment.globals["sort_key"] = sort_key
    environment.globals["many_listings"] = MANY_LISTINGS
    environment.tests["table"] = lambda block: isinstance(block, Table)
    environment.tests["chart"] = lambda block: isinstance(block, Chart)
    environment.tests["note"] = lambda block: isinstance(block, Note)
    environment.tests["listing"] = lambda block: isinstance(block, Listing)
    return environment.from_string(_resource("report.html.j2"))


def _resource(name: str) -> str:
    return resources.files("gpubench.analysis.page").joinpath(name).read_text(encoding="utf-8")


@cache
def _vega_bundle() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script."""
    bundle = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=vega_lite_version()
    )
    # A closing tag in a string constant would end the script early.
    return bundle.replace("</script", "<\\/script")


def _hash(script: str) -> str:
    """Return the name by which the page's policy knows a script (CSP level 3, 2.3.1)."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
