"""Logs for machines: one JSON object per line on stderr."""

from __future__ import annotations

import logging

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

CHATTY = ("kopf", "kopf.objects", "aiohttp", "kubernetes")
"""Loggers that tell of every event at INFO."""
KOPFS_ATTRIBUTES = ("k8s_ref", "k8s_skip", "settings")
"""What kopf adds to records for itself, with objects that are no JSON."""


def write_structured_logs(level: int) -> None:
    """Send all logs to stderr as JSON lines with time, level, logger and message."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter(
            "{asctime}{levelname}{name}{message}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            reserved_attrs=[*RESERVED_ATTRS, *KOPFS_ATTRIBUTES],
            json_default=str,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    if level > logging.DEBUG:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
