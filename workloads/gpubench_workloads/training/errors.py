"""Failures that a rank knows by name: each tells a person in one line what to do about it."""

from __future__ import annotations

from typing import ClassVar

from gpubench.api.enums import FailureClass


class WorkloadError(Exception):
    """A failure with a class of its own; its message is one line for a person.

    WorkloadError
    |-- BadSpecError          the spec asks for what cannot be
    |-- DataMissingError      the dataset is not there, or not what it should be
    |-- NonFiniteLossError    training diverged
    |-- UnfitMachineError     the machine lacks what the spec needs
    """

    failure_class: ClassVar[FailureClass] = FailureClass.CRASH


class BadSpecError(WorkloadError):
    """The spec asks for what cannot be: names the field, its value and what is allowed."""

    failure_class = FailureClass.BAD_SPEC


class DataMissingError(WorkloadError):
    """The dataset is not there, or is damaged, or is another one."""

    failure_class = FailureClass.DATA_MISSING


class NonFiniteLossError(WorkloadError):
    """The training loss, or a weight, became infinite or not a number."""

    failure_class = FailureClass.NON_FINITE_LOSS


class UnfitMachineError(WorkloadError):
    """The machine lacks what the spec needs, such as a GPU."""

    failure_class = FailureClass.ENVIRONMENT
