"""Events on the resources: what a person would want to be told."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Literal

from gpubench.controller.client import EVENTS, ApiError, KubernetesClient, ResourceType
from gpubench.lifecycle.timestamps import to_timestamp

MAX_MESSAGE_BYTES = 1024
"""Limit of the API server for an event's message."""

EventKind = Literal["Normal", "Warning"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subject:
    """The object that an event is about."""

    kind: ResourceType
    namespace: str
    name: str
    uid: str


class EventWriter:
    """Writes events; one that cannot be written is logged and missed, never waited for."""

    def __init__(self, client: KubernetesClient, reporter: str) -> None:
        self._client = client
        self._reporter = reporter

    async def write(self, subject: Subject, kind: EventKind, reason: str, message: str) -> None:
        """Write an event about an object."""
        now = to_timestamp(time.time()).partition(".")[0] + "Z"
        text = message.encode()[: MAX_MESSAGE_BYTES - 4].decode(errors="ignore")
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{subject.name[:220]}.{time.time_ns():x}",
                "namespace": subject.namespace,
            },
            "involvedObject": {
                "apiVersion": subject.kind.api_version,
                "kind": subject.kind.kind,
                "namespace": subject.namespace,
                "name": subject.name,
                "uid": subject.uid,
            },
            "type": kind,
            "reason": reason,
            "message": text,
            "source": {"component": "gpubench-operator"},
            "reportingComponent": "gpubench.io/operator",
            "reportingInstance": self._reporter,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        logger.info("%s: %s", reason, message, extra={"object": subject.name})
        try:
            await self._client.create(EVENTS, event)
        except ApiError as error:
            logger.warning("an event could not be written: %s", error)
