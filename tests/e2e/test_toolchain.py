from __future__ import annotations

import pytest

from tests.e2e.cluster.toolchain import is_new_enough


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("go version go1.26.8 linux/amd64", True),
        ("go version go2.0 linux/arm64", True),
        ("go version go1.27rc1 linux/amd64", True),
        ("go version go1.19.8 linux/amd64", False),
        ("go version go1.3 linux/amd64", False),
        ("", False),
    ],
)
def test_kubernetes_needs_a_go_that_is_new_enough(version: str, expected: bool) -> None:
    assert is_new_enough(version) is expected
