"""The product's own images on the cluster's node: `python -m tests.e2e.product_images [NAME...]`.

An image is built again when one of its inputs has changed, and loaded when the node has another.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.cluster.commands import ClusterError, run
from tests.e2e.cluster.images import INPUTS, ensure_base_image, load
from tests.e2e.cluster.layout import Layout

REPOSITORY = Path(__file__).parents[2]
TAG = "dev"
LOCKS = {"operator": "operator", "image-recognition": "workload", "llm-tuning": "llm"}
"""By image: the lock file with its packages."""
STANDS_ON = {"llm-tuning": "image-recognition"}
"""By image: another one of them that it is built on."""
CONTROL = "operator/gpubench"
SOURCES = {
    "operator": ("operator",),
    "image-recognition": (f"{CONTROL}/api", f"{CONTROL}/profiles", "workloads"),
    "llm-tuning": (),
}
"""By image: the folders of code that decide what it does."""
NSYS_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gpubench" / "nsys"
"""Where scripts/fetch_nsys.sh keeps what it fetched."""
FLAGS = {
    "operator": "",
    "image-recognition": "--build-arg TRIM=cpu --build-arg NSYS=debian",
    "llm-tuning": "",
}
"""Nodes of tests have no GPUs, and 1.5 GB less are built, packed and unpacked sooner."""
COLD_SECONDS = 1500
"""Where nothing is built yet, torch comes over the network."""


def image_name(name: str) -> str:
    """The name under which pods find the image."""
    return f"localhost/gpubench-{name}:{TAG}"


def ensure_product_image(name: str, layout: Layout | None = None) -> str:
    """Build an image if it is not what the checkout holds, bring it to the node, tell its name."""
    layout = layout or Layout.of_environment()
    image = image_name(name)
    base = ensure_base_image(layout)
    stands_on = STANDS_ON.get(name)
    if stands_on is not None:
        ensure_product_image(stands_on, layout)
    inputs = _hash_inputs(name, base)
    if image_config(image, layout).get("Labels", {}).get(INPUTS) != inputs:
        NSYS_CACHE.mkdir(parents=True, exist_ok=True)
        cache = f"{NSYS_CACHE}:/var/cache/nsys"
        variables = {
            "BASE_IMAGE": base,
            "BUILD_FLAGS": f"{FLAGS[name]} --label {INPUTS}={inputs} -v {cache}",
            "ENGINE": " ".join(buildah(layout)),
            "TAG": TAG,
        }
        script = REPOSITORY / "images" / "build.sh"
        with tempfile.TemporaryDirectory(dir=layout.image_store) as scratch:
            environment = os.environ | variables | {"TMPDIR": scratch}
            print(run(script, name, environment=environment, timeout=COLD_SECONDS))
    load(image, layout)
    return image


def image_config(image: str, layout: Layout) -> dict[str, Any]:
    """What an image says about itself; nothing where it does not exist."""
    try:
        answer = run(*buildah(layout), "inspect", "--type", "image", image)
    except ClusterError:
        return {}
    config: dict[str, Any] = json.loads(answer)["OCIv1"]["config"]
    return config


def buildah(layout: Layout) -> list[str]:
    """The beginning of a buildah command in the cluster's image store."""
    folders = f"--root {layout.image_store}/storage --runroot {layout.image_store}/run"
    return ["buildah", *folders.split(), "--storage-driver", "overlay"]


def _hash_inputs(name: str, base: str) -> str:
    """One hash of all that decides what an image does."""
    if name in STANDS_ON:
        base = _hash_inputs(STANDS_ON[name], base)
    files = [
        REPOSITORY / "images" / name / "Dockerfile",
        *(REPOSITORY / "requirements" / f"{lock}.txt" for lock in ("uv", LOCKS[name])),
        REPOSITORY / "pyproject.toml",
        REPOSITORY / "scripts" / "fetch_nsys.sh",
        *(path for folder in SOURCES[name] for path in sorted((REPOSITORY / folder).rglob("*"))),
    ]
    total = hashlib.sha256(f"{base} {FLAGS[name]}".encode())
    for path in files:
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(f"\0{path.relative_to(REPOSITORY)}\0".encode() + path.read_bytes())
    return total.hexdigest()[:32]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or LOCKS:
        ensure_product_image(wanted)
