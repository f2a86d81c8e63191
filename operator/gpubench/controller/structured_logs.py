"""Logs for machines: one JSON object per line on stderr."""

from __future__ import annotations

import logging

from pythonjsonlogger.json import JsonFormatter

CHATTY = ("kopf", "kopf.objects", "aiohttp", "kubernetes")
"""Loggers that tell of every event at INFO."""


def write_structured_logs(level: int) -> None:
    """Send all logs to stderr as JSON lines with time, level, logger and message."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter(
            "{asctime}{levelname}{name}{message}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    if level > logging.DEBUG:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
