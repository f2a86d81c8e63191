"""Benchmarks and runs as the API server holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from kubernetes.client.exceptions import ApiException
from pydantic import ValidationError

from gpubench.api.base import API_GROUP, API_VERSION
from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.errors import Problem, SpecError
from gpubench.api.run import GPUBenchmarkRun
from gpubench.backends import BENCHMARK_UID_LABEL
from gpubench.cluster.connection import REQUEST_TIMEOUT, Cluster, answer_of
from gpubench.cluster.errors import ClusterError, NotFoundError

BENCHMARKS = "gpubenchmarks"
RUNS = "gpubenchmarkruns"
FIELD_MANAGER = "gpubench-cli"
PAGE_SIZE = 500

Manifest = dict[str, Any]


def list_benchmarks(cluster: Cluster, *, everywhere: bool) -> list[Manifest]:
    """Return the benchmarks of the namespace, or of all, by namespace and name.

    Raises:
        ClusterError: the cluster or the namespace cannot be read.
    """
    namespace = None if everywhere else cluster.namespace
    found = list(_list(cluster, BENCHMARKS, namespace))
    if not found and namespace is not None:
        check_namespace(cluster)
    return sorted(found, key=lambda m: (m["metadata"]["namespace"], m["metadata"]["name"]))


def get_benchmark(cluster: Cluster, name: str) -> GPUBenchmark:
    """Return a benchmark with its status.

    Raises:
        NotFoundError: there is none; names those that are there.
        ClusterError: the cluster cannot be read, or is of another version.
    """
    found = _get(cluster, BENCHMARKS, name)
    if found is None:
        there = [each["metadata"]["name"] for each in list_benchmarks(cluster, everywhere=False)]
        words = f"there are: {', '.join(there)}" if there else "there is none"
        msg = f"{name}: no such benchmark in namespace {cluster.namespace}; {words}"
        raise NotFoundError(msg)
    return read_benchmark(found)


def find_run(cluster: Cluster, name: str) -> GPUBenchmarkRun | None:
    """Return a run with its status, None if there is none.

    Raises:
        ClusterError: the cluster cannot be read, or is of another version.
    """
    found = _get(cluster, RUNS, name)
    return None if found is None else read_run(found)


def list_runs(cluster: Cluster, benchmark: GPUBenchmark) -> list[GPUBenchmarkRun]:
    """Return every run object of a benchmark, in no order.

    Raises:
        ClusterError: the cluster cannot be read, or is of another version.
    """
    selector = f"{BENCHMARK_UID_LABEL}={uid_of(benchmark)}"
    return [read_run(found) for found in _list(cluster, RUNS, cluster.namespace, selector)]


def apply(cluster: Cluster, manifest: Manifest, *, dry_run: bool = False) -> None:
    """Create or change a benchmark so that it is as the manifest says.

    Raises:
        SpecError: the API server refuses it.
        ClusterError: the cluster cannot be reached or does not allow it.
    """
    name = manifest["metadata"]["name"]
    with cluster.asking(f"benchmark {name}"):
        try:
            cluster.objects.patch_namespaced_custom_object(
                API_GROUP,
                API_VERSION,
                cluster.namespace,
                BENCHMARKS,
                name,
                manifest,
                dry_run="All" if dry_run else None,
                field_manager=FIELD_MANAGER,
                field_validation="Strict",
                # The file is what is wanted, whoever set a field before.
                force=True,
                _content_type="application/apply-patch+yaml",
                _request_timeout=REQUEST_TIMEOUT,
            )
        except ApiException as error:
            problems = list(_refusals(error))
            if not problems:
                raise
            raise SpecError(problems) from None


def check_namespace(cluster: Cluster) -> None:
    """See that the namespace exists; listing one that does not is no error to the API server.

    Raises:
        NotFoundError: it does not exist.
        ClusterError: the cluster cannot be read.
    """
    with cluster.asking(f"namespace {cluster.namespace}"):
        try:
            cluster.core.read_namespace(cluster.namespace, _request_timeout=REQUEST_TIMEOUT)
        except ApiException as error:
            # Many a user may not read namespaces; their own is there nevertheless.
            if error.status == 404:
                msg = f"namespace {cluster.namespace} does not exist in this cluster"
                raise NotFoundError(msg) from None
            if error.status != 403:
                raise


def uid_of(benchmark: GPUBenchmark) -> str:
    """Return what tells a benchmark from another one that had its name before."""
    return str((benchmark.metadata.model_extra or {})["uid"])


def generation_of(benchmark: GPUBenchmark) -> int:
    """Return the version of the benchmark's spec."""
    return int((benchmark.metadata.model_extra or {})["generation"])


def read_benchmark(manifest: Manifest) -> GPUBenchmark:
    """Read a benchmark that the API server sent.

    Raises:
        ClusterError: it is not of a form that this gpubench knows.
    """
    try:
        return GPUBenchmark.model_validate(manifest)
    except ValidationError as error:
        raise _other_version("GPUBenchmark", manifest, error) from None


def read_run(manifest: Manifest) -> GPUBenchmarkRun:
    """Read a run that the API server sent.

    Raises:
        ClusterError: it is not of a form that this gpubench knows.
    """
    try:
        return GPUBenchmarkRun.model_validate(manifest)
    except ValidationError as error:
        raise _other_version("GPUBenchmarkRun", manifest, error) from None


def _other_version(kind: str, manifest: Manifest, error: ValidationError) -> ClusterError:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    name = manifest["metadata"]["name"]
    return ClusterError(
        f"{kind} {name}: {where}: {first['msg']}; the cluster's gpubench is of another version"
    )


def _get(cluster: Cluster, plural: str, name: str) -> Manifest | None:
    with cluster.asking(f"{plural} in namespace {cluster.namespace}"):
        try:
            found = cluster.objects.get_namespaced_custom_object(
                API_GROUP,
                API_VERSION,
                cluster.namespace,
                plural,
                name,
                _request_timeout=REQUEST_TIMEOUT,
            )
        except ApiException as error:
            if error.status == 404 and answer_of(error):
                return None
            raise
    return cast("Manifest", found)


def _list(
    cluster: Cluster, plural: str, namespace: str | None, selector: str | None = None
) -> Iterator[Manifest]:
    position: str | None = None
    options: dict[str, Any] = {"limit": PAGE_SIZE, "_request_timeout": REQUEST_TIMEOUT}
    if selector is not None:
        options["label_selector"] = selector
    where = f"namespace {namespace}" if namespace else "all namespaces"
    with cluster.asking(f"{plural} in {where}"):
        while True:
            if namespace is None:
                page = cluster.objects.list_cluster_custom_object(
                    API_GROUP, API_VERSION, plural, _continue=position, **options
                )
            else:
                page = cluster.objects.list_namespaced_custom_object(
                    API_GROUP, API_VERSION, namespace, plural, _continue=position, **options
                )
            content = cast("Manifest", page)
            yield from content["items"]
            position = content["metadata"].get("continue")
            if not position:
                return


def _refusals(error: ApiException) -> Iterator[Problem]:
    """Return what the API server finds wrong with a benchmark, if that is what the error is."""
    status = answer_of(error)
    if error.status == 422:
        causes = (status.get("details") or {}).get("causes") or []
        for cause in causes:
            yield Problem(cause.get("field", ""), " ".join(cause.get("message", "").split()))
        if not causes:
            yield Problem("", status.get("message", "refused"))
    elif error.status == 400:
        yield Problem("", " ".join(status.get("message", "refused").split()))
