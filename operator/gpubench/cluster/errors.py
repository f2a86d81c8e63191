"""What goes wrong between a user and a cluster."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster cannot do what was asked; the message says on one line why and what to do."""


class StoppedError(ClusterError):
    """Whoever started it asked to stop."""


class NotFoundError(ClusterError):
    """The cluster does not hold what was asked for."""
