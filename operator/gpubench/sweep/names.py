"""Names of runs and of the jobs that execute them."""

from __future__ import annotations

import re

from gpubench.sweep.hashing import POINT_HASH_LENGTH, text_hash

MAX_RUN_NAME_LENGTH = 50
"""A PyTorchJob's name has 54 characters at most (its pods' service is `<job>-master-0`), of which
`-<attempt>` takes four."""

MAX_PREFIX_LENGTH = MAX_RUN_NAME_LENGTH - len("-") - POINT_HASH_LENGTH - len("-100")
_NAME_HASH_LENGTH = 8

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
# 0 is no digit of base32: a benchmark that is named so itself is shortened too, hence no
# benchmark's own name is another one's shortened name.
_SHORTENED = re.compile(rf".*-0[a-z2-7]{{{_NAME_HASH_LENGTH}}}")


def run_name(benchmark: str, point_hash: str, repetition: int) -> str:
    """Return `<benchmark>-<hash>-<repetition>`, a DNS-1035 name of 50 characters at most."""
    return f"{run_name_prefix(benchmark)}-{point_hash}-{repetition}"


def job_name(run: str, attempt: int) -> str:
    """Return the name of the job for an attempt (1 to 999) at a run."""
    return f"{run}-{attempt}"


def run_name_prefix(benchmark: str) -> str:
    """Return a benchmark's name as its runs' names begin.

    A name that is too long, or has dots or a digit in front as an object's name may, is made to
    fit and carries a hash of the whole.
    """
    fits = len(benchmark) <= MAX_PREFIX_LENGTH and _DNS_1035.fullmatch(benchmark)
    if fits and not _SHORTENED.fullmatch(benchmark):
        return benchmark
    suffix = f"-0{text_hash(benchmark, _NAME_HASH_LENGTH)}"
    words = re.sub(r"[^a-z0-9]+", "-", benchmark)
    letters_first = words if words[:1].isalpha() else f"b{words}"
    return letters_first[: MAX_PREFIX_LENGTH - len(suffix)].rstrip("-") + suffix
