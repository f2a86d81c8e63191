"""Container images: a Debian base, what is built on it, and bringing both to the node."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.cluster.commands import ClusterError, run
from tests.e2e.cluster.layout import Layout
from tests.e2e.cluster.node import PAUSE_IMAGE, ctr

BASE_IMAGE = "localhost/gpubench-base:bookworm"
"""Debian with Python: what Dockerfiles get as BASE_IMAGE."""

RELEASE = "bookworm"
BASE_PACKAGES = ("ca-certificates", "python3", "python3-venv")
INPUTS = "gpubench.inputs"
"""The label that holds the hash of what an image was made from."""

FROM_THE_MACHINE = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
"""What RUN steps see of this machine, read-only: its authorities and where its pip looks."""


def ensure_base_image(layout: Layout | None = None) -> str:
    """The name of the base image, which is built if it is not there yet."""
    layout = layout or Layout.of_environment()
    inputs = _hash(RELEASE, *BASE_PACKAGES)
    if _inputs(layout, BASE_IMAGE) == inputs:
        return BASE_IMAGE
    layout.image_store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=layout.image_store) as folder:
        root = Path(folder, "root")
        packages = f"--include={','.join(BASE_PACKAGES)}"
        run("debootstrap", "--variant=minbase", packages, RELEASE, root, timeout=900)
        for leftover in ("var/cache/apt", "var/lib/apt/lists", "var/log"):
            shutil.rmtree(root / leftover)
            (root / leftover).mkdir()
        _commit_folder(layout, root, BASE_IMAGE, inputs)
    return BASE_IMAGE


def build_and_load(
    folder: Path,
    tag: str,
    build_arguments: Mapping[str, str] | None = None,
    *,
    dockerfile: Path | None = None,
    inputs: Sequence[Path] | None = None,
    layout: Layout | None = None,
    timeout: float = 1800,
) -> str:
    """Build a folder with a Dockerfile and bring the image to the node, if its inputs changed.

    Inputs are the files and folders named (by default the whole folder), the Dockerfile, the
    arguments and the base image.
    """
    layout = layout or Layout.of_environment()
    base = ensure_base_image(layout)
    dockerfile = dockerfile or folder / "Dockerfile"
    arguments = {"BASE_IMAGE": base} | dict(build_arguments or {})
    made_from = _hash(
        json.dumps(arguments, sort_keys=True),
        _inputs(layout, base) or "",
        dockerfile.read_bytes(),
        *(content for path in inputs or [folder] for content in _contents(path)),
    )
    if _inputs(layout, tag) != made_from:
        values = [part for item in arguments.items() for part in ("--build-arg", "=".join(item))]
        mounts = [
            part
            for path in FROM_THE_MACHINE
            if Path(path).exists()
            for part in ("--volume", f"{path}:{path}:ro")
        ]
        with tempfile.TemporaryDirectory(dir=layout.image_store) as scratch:
            run(
                *_buildah(layout),
                *("build", "--pull-never", "--isolation", "chroot", "--format", "oci"),
                *("--file", dockerfile, "--tag", tag, "--label", f"{INPUTS}={made_from}"),
                *values,
                *mounts,
                folder,
                environment=os.environ | {"TMPDIR": scratch},
                timeout=timeout,
            )
        # The image that had the tag before lost its name, and would keep its gigabytes.
        run(*_buildah(layout), "rmi", "--prune")
    load(tag, layout)
    return tag


def load(image: str | Path, layout: Layout | None = None) -> None:
    """Bring an image to the node: a name that buildah knows, or an OCI archive."""
    layout = layout or Layout.of_environment()
    if isinstance(image, Path):
        _import(layout, image)
        return
    inputs = _inputs(layout, image) or ""
    if inputs and f"{INPUTS}={inputs}" in _label_on_the_node(layout, image):
        return
    with tempfile.TemporaryDirectory(dir=layout.image_store) as folder:
        archive = Path(folder, "image.tar")
        target = f"oci-archive:{archive}:{image}"
        environment = os.environ | {"TMPDIR": folder}
        push = (*_buildah(layout), "push", "--quiet", image, target)
        run(*push, environment=environment, timeout=900)
        _import(layout, archive)
    run(*ctr(layout), "images", "label", image, f"{INPUTS}={inputs}")


def _import(layout: Layout, archive: Path) -> None:
    """Bring an archive's image to the node.

    Where it replaces an image of the same name, containerd collects that one's layers meanwhile,
    and with them now and then one that the new image was to stand on: the second try brings it.
    """
    try:
        run(*ctr(layout), "images", "import", archive, timeout=900)
    except ClusterError as error:
        if "does not exist: not found" not in str(error):
            raise
        run(*ctr(layout), "images", "import", archive, timeout=900)


def load_program(program: Path, image: str, path: str, layout: Layout) -> str:
    """An image that holds one static program and nothing else."""
    inputs = _hash(str(program), str(program.stat().st_size), path)
    if _inputs(layout, image) != inputs:
        layout.image_store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=layout.image_store) as folder:
            target = Path(folder, "root", path.lstrip("/"))
            target.parent.mkdir(parents=True)
            shutil.copy2(program, target)
            _commit_folder(layout, Path(folder, "root"), image, inputs, entry_point=path)
    load(image, layout)
    return image


def load_pause(layout: Layout) -> None:
    """The image that holds each pod's namespaces open."""
    load_program(layout.binaries / "pause", PAUSE_IMAGE, "/pause", layout)


def remove_leftovers(layout: Layout) -> None:
    """Take away what was being written when a build or a load was killed: gigabytes."""
    for folder in layout.image_store.glob(f"{tempfile.gettempprefix()}*"):
        shutil.rmtree(folder, ignore_errors=True)


def builder(layout: Layout) -> int | None:
    """The process that builds an image in our store now, if there is one."""
    store = str(layout.image_store)
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and store in (folder / "cmdline").read_text(errors="replace"):
                return int(folder.name)
    return None


def _commit_folder(
    layout: Layout, root: Path, image: str, inputs: str, entry_point: str | None = None
) -> None:
    """Make an image of one layer out of a folder."""
    root.chmod(0o755)
    buildah = _buildah(layout)
    container = run(*buildah, "from", "scratch").strip()
    try:
        run(*buildah, "add", "--quiet", container, root, "/", timeout=300)
        settings = ["--label", f"{INPUTS}={inputs}"]
        if entry_point:
            settings += ["--entrypoint", json.dumps([entry_point])]
        else:
            settings += ["--cmd", "/bin/bash"]
        run(*buildah, "config", *settings, container)
        run(*buildah, "commit", "--quiet", "--format", "oci", container, image, timeout=300)
    finally:
        run(*buildah, "rm", container)


def _buildah(layout: Layout) -> list[str]:
    store = layout.image_store
    folders = ["--root", str(store / "storage"), "--runroot", str(store / "run")]
    return ["buildah", *folders, "--storage-driver", "overlay"]


def _inputs(layout: Layout, image: str) -> str | None:
    """From which inputs buildah's image of this name was made; None where there is none."""
    template = '{{index .OCIv1.Config.Labels "%s"}}' % INPUTS  # noqa: UP031  # braces are Go's
    try:
        return run(
            *_buildah(layout), "inspect", "--type", "image", "--format", template, image
        ).strip()
    except ClusterError:
        return None


def _label_on_the_node(layout: Layout, image: str) -> str:
    """The line in which ctr tells an image's labels."""
    return run(*ctr(layout), "images", "list", f"name=={image}")


def _contents(folder: Path) -> list[bytes]:
    """Names and contents of a folder's files, or of one file."""
    if folder.is_file():
        return [folder.name.encode() + b"\0" + folder.read_bytes()]
    ignored = {".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
    return [
        str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not ignored & set(path.relative_to(folder).parts)
    ]


def _hash(*parts: str | bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()[:32]
