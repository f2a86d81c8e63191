"""A dcgm-exporter without GPUs: a process that serves what the real one would, faults included.

    python -m tests.integration.dcgm.exporter --port=0 --control=FILE

It prints its port. FILE is JSON that is read before each answer: what to serve, and how to fail.

    {"format": "4.5",            the release whose form it has: 2.4, 3.3, 3.3-old-namespace, 4.5
     "fault": "",                slow, dead, half, error, redirect, huge, garbage, or none
     "date": 0,                  seconds that its clock is ahead
     "gpus": [{"uuid": "GPU-...", "instance": "", "profile": "", "pods": [["ns", "pod"]],
               "values": {"DCGM_FI_DEV_POWER_USAGE": 300.5, ...}}]}
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Gpu = dict[str, Any]
MODEL = "NVIDIA H100 80GB HBM3"
COUNTERS = frozenset({"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_EXP_XID_ERRORS_COUNT"})
WHOLE_NUMBERS = frozenset(
    {
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_FREE",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_DEV_MEM_CLOCK",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        "DCGM_EXP_XID_ERRORS_COUNT",
    }
)
"""DCGM's 64-bit integers; all else are doubles with six digits behind the point."""


def exposition(gpus: list[Gpu], form: str = "4.5") -> str:
    """Return what a release of dcgm-exporter would serve of these GPUs."""
    names = dict.fromkeys(name for gpu in gpus for name in gpu["values"])
    lines = []
    for name in sorted(names):
        kind = "counter" if name in COUNTERS else "gauge"
        lines += [f"# HELP {name} {name} as DCGM has it.", f"# TYPE {name} {kind}"]
        for index, gpu in enumerate(gpus):
            if name in gpu["values"]:
                lines += series(name, index, gpu, form)
    return "\n".join(lines) + "\n"


def series(name: str, index: int, gpu: Gpu, form: str) -> list[str]:
    """Return the lines of a GPU's field: one for each pod on it."""
    value = gpu["values"][name]
    labelled = {"": value} if not isinstance(value, dict) else value
    found = []
    for xid, number in labelled.items():
        for namespace, pod in gpu.get("pods") or [("", "")]:
            labels = labels_of(index, gpu, form) | pod_labels(namespace, pod, form)
            if xid:
                labels |= {"window_size_in_ms": "300000", "xid": xid}
            if name == "DCGM_FI_DEV_XID_ERRORS" and form.startswith("4"):
                labels |= {"err_code": str(number), "err_msg": "No Error" if not number else "?"}
            text = ",".join(f'{label}="{content}"' for label, content in labels.items())
            shown = f"{number:d}" if name in WHOLE_NUMBERS else f"{number:f}"
            found.append(f"{name}{{{text}}} {shown}")
    return found


def labels_of(index: int, gpu: Gpu, form: str) -> dict[str, str]:
    """Return a GPU's labels."""
    is_old = form == "3.3-old-namespace"
    labels = {"gpu": str(gpu.get("index", index)), "uuid" if is_old else "UUID": gpu["uuid"]}
    if form.startswith("4"):
        labels["pci_bus_id"] = f"00000000:{index:02X}:00.0"
    labels |= {"device": f"nvidia{index}", "modelName": MODEL}
    if gpu.get("instance"):
        labels |= {"GPU_I_PROFILE": gpu["profile"], "GPU_I_ID": gpu["instance"]}
    host = "hostname" if form == "4.5" else "Hostname"
    labels[host] = "node-a"
    if not form.startswith("2"):
        labels["DCGM_FI_DRIVER_VERSION"] = "550.54.15"
    return labels


def pod_labels(namespace: str, pod: str, form: str) -> dict[str, str]:
    """Return the labels that name a pod; old releases have them empty where there is none."""
    if not pod and not form.startswith("2"):
        return {}
    names = ("container", "namespace", "pod")
    if form == "3.3-old-namespace":
        names = ("container_name", "pod_namespace", "pod_name")
    return dict(zip(names, ("pytorch" if pod else "", namespace, pod), strict=True))


class Handler(BaseHTTPRequestHandler):
    """Answers GET /metrics as the control file says at that moment."""

    control: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        wanted = json.loads(self.control.read_text(encoding="utf-8"))
        body = exposition(wanted["gpus"], wanted.get("format", "4.5")).encode()
        match wanted.get("fault", ""):
            case "slow":
                time.sleep(60)
            case "dead":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            case "half":
                self._send(200, body, len(body) // 2, wanted)
                self.close_connection = True
                self.connection.close()
                return
            case "error":
                self._send(500, b"internal server error\n", None, wanted)
                return
            case "redirect":
                self._send(302, b"", None, wanted)
                return
            case "huge":
                body *= 1 + 2**26 // max(len(body), 1)
            case "garbage":
                body = bytes(range(256)) * 100
        self._send(200, body, None, wanted)

    def _send(self, status: int, body: bytes, cut: int | None, wanted: dict[str, Any]) -> None:
        self.send_response_only(status)
        if status == 302:
            self.send_header("Location", "/metrics")
        self.send_header("Date", formatdate(time.time() + wanted.get("date", 0), usegmt=True))
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body if cut is None else body[:cut])
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", type=Path, required=True)
    options = parser.parse_args()
    Handler.control = options.control
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
