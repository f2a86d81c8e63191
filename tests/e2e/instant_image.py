"""An image whose pods end at once: for tests of everything around the training."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.cluster.commands import run
from tests.e2e.cluster.images import build_and_load
from tests.e2e.cluster.layout import Layout
from tests.e2e.cluster.node import ctr

INSTANT_IMAGE = "localhost/gpubench-instant:dev"


def ensure_instant_image(layout: Layout | None = None) -> str:
    """Build the image and bring it to the node, if it is not there."""
    return build_and_load(Path(__file__).parent / "instant", INSTANT_IMAGE, layout=layout)


def load_instant_image_as(name: str, layout: Layout) -> None:
    """Give the image one more name on the node."""
    run(*ctr(layout), "images", "tag", "--force", INSTANT_IMAGE, name)


def forget_image(name: str, layout: Layout) -> None:
    """Take a name off the node."""
    run(*ctr(layout), "images", "remove", name)
