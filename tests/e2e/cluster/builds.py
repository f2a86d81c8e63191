"""The Kubernetes components, built from pinned Go modules into a cache outside the checkout."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.e2e.cluster.commands import ClusterError, run
from tests.e2e.cluster.toolchain import ensure_go

MODULES = Path(__file__).parent / "go"

KUBERNETES = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)

PROGRAMS: dict[str, tuple[str, ...]] = {
    "etcd": ("etcd",),
    "kubernetes": KUBERNETES,
    "pause": ("pause",),
    "training-operator": ("training-operator.v1",),
    "helm": ("helm",),
    "kubeconform": ("kubeconform",),
}
"""By module folder: what it builds."""

TRAINING_OPERATOR = "github.com/kubeflow/training-operator"


@cache
def binaries_folder() -> Path:
    """The cache folder for exactly these modules."""
    pins = hashlib.sha256()
    for path in sorted(MODULES.rglob("*")):
        if path.is_file():
            pins.update(str(path.relative_to(MODULES)).encode() + b"\0" + path.read_bytes())
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "gpubench" / "cluster" / f"bin-{pins.hexdigest()[:16]}"


def module_version(module_folder: str, dependency: str) -> str:
    """The version of a dependency that a module pins."""
    text = (MODULES / module_folder / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require)?\s*{re.escape(dependency)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise ClusterError(f"{module_folder}/go.mod does not require {dependency}")
    return found[1]


def build_missing(say: Callable[[str], None]) -> Path:
    """Build what the cache lacks, one module after another, and return the cache folder."""
    target = binaries_folder()
    missing = [
        folder
        for folder, programs in PROGRAMS.items()
        if not all((target / program).exists() for program in programs)
    ]
    target.mkdir(parents=True, exist_ok=True)
    go = ensure_go(target.parent / "go", say) if missing else ""
    for folder in missing:
        say(f"building {', '.join(PROGRAMS[folder])}")
        build(folder, target, go)
    if not manifests_folder().exists():
        _copy_manifests(target, ensure_go(target.parent / "go", say))
    return target


def build(module_folder: str, target: Path, go: str) -> None:
    """Build one module's programs; they appear in the target only when all are whole."""
    module = MODULES / module_folder
    unfinished = target / f".{module_folder}-{os.getpid()}"
    unfinished.mkdir()
    what = "." if (module / "main.go").exists() else "tool"
    flags = [
        "-buildvcs=false",
        "-mod=readonly",
        "-ldflags",
        f"-s -w {_version_stamp(module_folder)}",
    ]
    try:
        run(
            *("nice", "-n", "5", go, "build", *flags, "-o", f"{unfinished}/", what),
            environment=os.environ | {"CGO_ENABLED": "0"},
            folder=module,
            timeout=1800,
        )
        for program in PROGRAMS[module_folder]:
            (unfinished / program).rename(target / program)
    finally:
        shutil.rmtree(unfinished)


def _version_stamp(module_folder: str) -> str:
    """Without it the components misreport their version, and clients warn about the skew."""
    if module_folder != "kubernetes":
        return ""
    version = module_version(module_folder, "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{k}={v}" for package in packages for k, v in values.items())


def manifests_folder() -> Path:
    """training-operator's own manifests, of the version that is built."""
    return binaries_folder() / "training-operator-manifests"


def _copy_manifests(target: Path, go: str) -> None:
    module = run(
        *(go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", TRAINING_OPERATOR),
        folder=MODULES / "training-operator",
    ).strip()
    unfinished = target / f".manifests-{os.getpid()}"
    shutil.copytree(Path(module) / "manifests", unfinished)
    # Go's module cache is read-only, and so would be the copy.
    subprocess.run(["chmod", "-R", "u+w", str(unfinished)], check=True)
    unfinished.rename(manifests_folder())
