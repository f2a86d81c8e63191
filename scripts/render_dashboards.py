r"""Draw what the dashboards would show, by asking a Prometheus the same queries.

    python -m scripts.render_dashboards http://127.0.0.1:9090 \
        --set namespace=default --set benchmark=mobilenet-sweep --output pictures

A panel without an answer is drawn empty and named on the terminal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import altair as alt

from scripts.panel_data import PrometheusApi, QueryError, Window, panels, targets
from scripts.panel_drawing import Answers, Drawing, draw_panel

DASHBOARDS = Path(__file__).parents[1] / "charts" / "gpubench" / "files" / "dashboards"
POINTS = 300
"""Of each curve."""
PICTURE_SCALE = 1.0

alt.data_transformers.disable_max_rows()


def main() -> int:
    """Draw every dashboard; return 1 if a panel was without an answer."""
    options = _arguments()
    variables = dict(setting.split("=", 1) for setting in options.set)
    end = options.until or time.time()
    start = end - 60 * options.minutes
    window = Window(start, end, step=max((end - start) / POINTS, 15.0))
    api = PrometheusApi(options.prometheus)
    options.output.mkdir(parents=True, exist_ok=True)
    empty: list[str] = []
    for path in sorted(DASHBOARDS.glob("*.json")):
        dashboard = json.loads(path.read_text(encoding="utf-8"))
        answers = ask(dashboard, variables, api, window)
        empty += [f"{path.stem}: {title}" for title, found in answers.items() if not found]
        picture = options.output / f"{path.stem}.png"
        draw(dashboard, answers).save(picture, scale_factor=options.scale)
        print(picture)
    for panel in empty:
        print(f"nothing to show: {panel}", file=sys.stderr)
    return 1 if empty else 0


def ask(
    dashboard: Mapping[str, Any],
    variables: Mapping[str, str],
    api: PrometheusApi,
    window: Window,
) -> dict[str, Answers]:
    """Return the answers that each panel shows, by its title; none where there is nothing."""
    found: dict[str, Answers] = {}
    for panel in panels(dashboard):
        asked = targets(panel, variables)
        try:
            answers = [(target, api.answer(target, window)) for target in asked]
        except QueryError as error:
            print(f"{panel['title']}: {error}", file=sys.stderr)
            answers = []
        found[panel["title"]] = answers if any(series for _, series in answers) else []
    return found


def draw(dashboard: Mapping[str, Any], answers: Mapping[str, Answers]) -> Drawing:
    """Return a dashboard as one picture, its panels in the lines that they are in."""
    lines = []
    for _, line in groupby(panels(dashboard), key=lambda panel: panel["gridPos"]["y"]):
        drawn = [
            draw_panel(panel, answers[panel["title"]]) for panel in line if answers[panel["title"]]
        ]
        if drawn:
            charts = alt.hconcat(*drawn, spacing=24)
            lines.append(charts.resolve_scale(color="independent", x="independent"))
    title = alt.TitleParams(dashboard["title"], anchor="start", fontSize=20, offset=14)
    return (
        alt.vconcat(*lines, title=title, spacing=18)
        .resolve_scale(color="independent", x="independent", y="independent")
        .configure_view(stroke="#e4e4e4")
        .configure_axis(labelFontSize=10, titleFontSize=10, gridColor="#f0f0f0")
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("prometheus", help="its address, such as http://127.0.0.1:9090")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a dashboard's variable"
    )
    parser.add_argument("--minutes", type=float, default=60, help="how far back (default 60)")
    parser.add_argument("--until", type=float, help="the last moment, since the epoch (now)")
    parser.add_argument("--scale", type=float, default=PICTURE_SCALE, help="pixels per pixel")
    parser.add_argument("--output", type=Path, default=Path("pictures"), help="folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
