"""What a command in a pod writes to stdout, read as it comes."""

from __future__ import annotations

import json
import re
import select
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream
from websocket import ABNF, WebSocketConnectionClosedException, WebSocketException

from gpubench.cluster.connection import Cluster
from gpubench.cluster.errors import ClusterError, StoppedError

STDIN, STDOUT, STDERR, ERROR = range(4)
SILENCE_SECONDS = 120.0
"""A command that has written nothing for so long has been cut off."""
STEP_SECONDS = 0.5
_HANDSHAKE = re.compile(r"Handshake status (?P<status>\d+) (?P<words>[A-Za-z ]+)")


class ExecStream:
    """The output of one command in a pod.

    The client's own reader gathers all that has come before it hands out anything, which for a
    volume's content is too much; here a frame is read when one is wanted.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: str,
        command: Sequence[str],
        line: str,
        should_stop: Callable[[], bool],
    ) -> None:
        """Start the command in a pod's first container, and write it one line.

        Raises:
            ClusterError: the pod cannot be asked.
        """
        with cluster.asking(f"pods/exec of pod {pod}"):
            try:
                self._client: Any = stream(
                    cluster.core.connect_get_namespaced_pod_exec,
                    pod,
                    cluster.namespace,
                    command=list(command),
                    stdin=True,
                    stdout=True,
                    stderr=True,
                    tty=False,
                    binary=True,
                    _preload_content=False,
                )
            except ApiException as error:
                raise _refusal(error) from None
        self._should_stop = should_stop
        self._client.write_stdin(f"{line}\n".encode())
        self._buffers = {STDOUT: bytearray(), STDERR: bytearray(), ERROR: bytearray()}
        self._open = True

    def read(self, size: int) -> bytes:
        """Return `size` bytes of stdout, fewer only at its end.

        Raises:
            StoppedError: `should_stop` said so.
            ClusterError: the connection broke.
        """
        out = self._buffers[STDOUT]
        self._receive_until(lambda: len(out) >= size)
        taken = bytes(out[:size])
        del out[:size]
        return taken

    def read_error_line(self) -> str:
        """Return the first line of stderr, or what there is of it when the command ends.

        Raises:
            StoppedError: `should_stop` said so.
            ClusterError: the connection broke.
        """
        errors = self._buffers[STDERR]
        self._receive_until(lambda: b"\n" in errors)
        line, _, rest = bytes(errors).partition(b"\n")
        errors[:] = rest
        return line.decode(errors="replace").strip()

    def finish(self) -> tuple[int, str]:
        """Return the command's exit code once it has ended, and what else stood on stderr.

        Raises:
            ClusterError: the connection broke, and nobody knows.
        """
        self._receive_until(lambda: False)
        words = " ".join(self._buffers[STDERR].decode(errors="replace").split())
        return _exit_code(bytes(self._buffers[ERROR])), words

    def close(self) -> None:
        """Let go of the command."""
        self._client.close()

    def _receive_until(self, enough: Callable[[], bool]) -> None:
        try:
            while self._open and not enough():
                self._await_frame()
                self._receive()
        except WebSocketConnectionClosedException:
            self._open = False
        except (OSError, WebSocketException) as error:
            msg = f"the connection to the pod broke: {error}"
            raise ClusterError(msg) from None

    def _await_frame(self) -> None:
        """Wait in short steps, so that Ctrl-C is heard while nothing comes."""
        connection = self._client.sock.sock
        silent_until = time.monotonic() + SILENCE_SECONDS
        # What TLS has taken from the socket already, select would not see.
        while not (isinstance(connection, ssl.SSLSocket) and connection.pending()):
            if self._should_stop():
                raise StoppedError("stopped")
            if select.select([connection], [], [], STEP_SECONDS)[0]:
                return
            if time.monotonic() > silent_until:
                raise TimeoutError(f"nothing came for {SILENCE_SECONDS:.0f} s")

    def _receive(self) -> None:
        kind, frame = self._client.sock.recv_data_frame(True)
        if kind == ABNF.OPCODE_CLOSE:
            self._open = False
        elif kind in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and frame.data:
            channel = self._buffers.get(frame.data[0])
            if channel is not None:
                channel += frame.data[1:]


def _exit_code(status_text: bytes) -> int:
    try:
        status = json.loads(status_text)
    except ValueError:
        msg = "the connection to the pod ended before the command did"
        raise ClusterError(msg) from None
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or []
    codes = [each["message"] for each in causes if each.get("reason") == "ExitCode"]
    if not codes:
        raise ClusterError(f"the command could not be run in the pod: {status.get('message')}")
    return int(codes[0])


def _refusal(error: ApiException) -> ClusterError:
    """Return what the client makes of a websocket that was not opened, in fewer words."""
    match = _HANDSHAKE.search(str(error.reason))
    words = f"{match['status']} {match['words'].strip()}" if match else str(error.reason)
    return ClusterError(f"the pod that reads the volume cannot be asked (pods/exec): {words}")
