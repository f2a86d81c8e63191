"""How tests are spread over workers, and how long their examples may take."""

from __future__ import annotations

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# How long an example takes says more about what else the machine does than about the code.
hypothesis.settings.register_profile("gpubench", deadline=None)
hypothesis.settings.load_profile("gpubench")

ON_THE_CLUSTER = "tests/e2e/"


class OneWorkerForTheCluster(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Tests on the cluster share its node and its GPUs, so one worker runs all of them."""

    def _split_scope(self, nodeid: str) -> str:
        return ON_THE_CLUSTER if nodeid.startswith(ON_THE_CLUSTER) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> OneWorkerForTheCluster | None:
    """Stands in for xdist's own groups, which pytest 9.2 ignores without a word (xdist #1386)."""
    if config.getvalue("dist") == "loadgroup":
        return OneWorkerForTheCluster(config, log)
    return None
