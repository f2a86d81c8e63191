"""The nsys of these tests is that of the tests of profiles."""

from tests.integration.profiles.conftest import nsys

__all__ = ["nsys"]
