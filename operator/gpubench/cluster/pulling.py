"""Brings a benchmark's results from its volume, through a pod that lives no longer than that."""

from __future__ import annotations

import io
import json
import re
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kubernetes.client import V1Pod
from kubernetes.client.exceptions import ApiException

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.run import GPUBenchmarkRun
from gpubench.backends import IMAGE_ANNOTATION
from gpubench.backends.pod_template import RESULTS_MOUNT
from gpubench.cluster.archive_program import NOT_THERE
from gpubench.cluster.connection import REQUEST_TIMEOUT, Cluster
from gpubench.cluster.errors import ClusterError, StoppedError
from gpubench.cluster.exec_stream import ExecStream
from gpubench.cluster.pods import Pod
from gpubench.cluster.pull_pod import is_running, pull_pod, what_for, why_never
from gpubench.cluster.resources import uid_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

POLL_SECONDS = 0.5
CHUNK_BYTES = 256 * 1024
_ATTEMPT_FILE = re.compile(r"[a-z][-a-z0-9]*/attempt-[1-9][0-9]{0,2}/.+")


@dataclass
class PullProgress:
    """Whom to tell how far it is; both may do nothing."""

    on_words: Callable[[str], None] = field(default=lambda _: None)
    on_bytes: Callable[[int, int], None] = field(default=lambda _done, _total: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)


def find_image(benchmark: GPUBenchmark, runs: Sequence[GPUBenchmarkRun]) -> str:
    """Return the image that the benchmark's pods run: that of its spec, else what its runs tell.

    Raises:
        ClusterError: neither tells.
    """
    told = (run.metadata.annotations.get(IMAGE_ANNOTATION) for run in runs)
    image = benchmark.spec.execution.image or next(filter(None, told), None)
    if image is None:
        msg = (
            f"{benchmark.name}: neither its spec nor its runs tell of an image; name one that has "
            "python3 by --image"
        )
        raise ClusterError(msg)
    return image


@dataclass(frozen=True)
class Pull:
    """What to bring, and through what."""

    cluster: Cluster
    benchmark: GPUBenchmark
    claim: str
    image: str
    start_seconds: float
    """How long the pod may take to start."""

    def bring(self, target: Path, left_out: Collection[str], progress: PullProgress) -> None:
        """Write the files of all attempts, but those left out, below `target`.

        Raises:
            StoppedError: `should_stop` said so; the pod is gone, too.
            ClusterError: the pod does not start, or not everything came.
        """
        with self._pod(progress) as pod:
            folder = f"{RESULTS_MOUNT}/{self.cluster.namespace}/{self.benchmark.name}"
            program = files("gpubench.cluster").joinpath("archive_program.py").read_text("utf-8")
            command = ["python3", "-c", program, folder]
            source = ExecStream(
                self.cluster, pod, command, json.dumps(sorted(left_out)), progress.should_stop
            )
            try:
                _receive(source, target, progress)
                code, words = source.finish()
            finally:
                source.close()
        if code == NOT_THERE:
            msg = f"volume claim {self.claim} holds no results of {self.benchmark.name} yet"
            raise ClusterError(msg)
        if code != 0:
            msg = f"the volume could not be read (exit code {code}): {words}"
            raise ClusterError(msg)

    @contextmanager
    def _pod(self, progress: PullProgress) -> Iterator[str]:
        core, namespace = self.cluster.core, self.cluster.namespace
        manifest = pull_pod(self.benchmark, uid_of(self.benchmark), self.claim, self.image)
        with self.cluster.asking(f"a pod in namespace {namespace}"):
            made = core.create_namespaced_pod(
                namespace,
                V1Pod.model_validate(manifest),
                _request_timeout=REQUEST_TIMEOUT,
            )
        name = str(self.cluster.api.sanitize_for_serialization(made)["metadata"]["name"])
        try:
            self._wait(name, progress)
            yield name
        finally:
            with self.cluster.asking(f"pod {name}"):
                try:
                    core.delete_namespaced_pod(
                        name, namespace, grace_period_seconds=0, _request_timeout=REQUEST_TIMEOUT
                    )
                except ApiException as error:
                    if error.status != 404:
                        raise

    def _wait(self, name: str, progress: PullProgress) -> None:
        until = time.monotonic() + self.start_seconds
        while True:
            pod = self._read(name)
            if is_running(pod):
                return
            never = why_never(pod)
            if never or time.monotonic() > until:
                words = never or f"not running after {self.start_seconds:.0f} s: {what_for(pod)}"
                msg = f"the pod that reads volume claim {self.claim} does not start: {words}"
                raise ClusterError(msg)
            if progress.should_stop():
                raise StoppedError("stopped")
            progress.on_words(what_for(pod))
            time.sleep(POLL_SECONDS)

    def _read(self, name: str) -> Pod:
        with self.cluster.asking(f"pod {name}"):
            pod = self.cluster.core.read_namespaced_pod(
                name, self.cluster.namespace, _request_timeout=REQUEST_TIMEOUT
            )
        return cast("Pod", self.cluster.api.sanitize_for_serialization(pod))


class _Counted(io.RawIOBase):
    """A stream that tells how much of it was read."""

    def __init__(self, source: ExecStream, total: int, progress: PullProgress) -> None:
        super().__init__()
        self._source = source
        self._total = total
        self._progress = progress
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        taken = self._source.read(len(room))
        room[: len(taken)] = taken
        self._done += len(taken)
        self._progress.on_bytes(min(self._done, self._total), self._total)
        return len(taken)


def _receive(source: ExecStream, target: Path, progress: PullProgress) -> None:
    first = source.read_error_line()
    if not first.isdigit():
        # The program says what is wrong by its exit code, and by words of Python's.
        return
    counted = _Counted(source, int(first), progress)
    try:
        with tarfile.open(fileobj=counted, mode="r|", bufsize=CHUNK_BYTES) as archive:
            for member in archive:
                # The volume's content is not ours: nothing but an attempt's plain files is taken.
                if member.isfile() and _ATTEMPT_FILE.fullmatch(member.name):
                    archive.extract(member, target, filter="data")
    except tarfile.TarError as error:
        msg = f"what came from the volume is not whole: {error}"
        raise ClusterError(msg) from None
