"""What is read of an exposition, release by release, and what is not taken from a damaged one."""

from __future__ import annotations

import random
import re
import time

import pytest

from gpubench.telemetry.dcgm import (
    FIELDS,
    ExpositionError,
    ExpositionParser,
    Field,
    GpuId,
    PodId,
)
from gpubench.telemetry.dcgm.fields import is_blank
from tests.integration.dcgm.exporter import exposition
from tests.integration.dcgm.gpus import gpu, uuid

RELEASES = ["2.4", "3.3", "3.3-old-namespace", "4.2", "4.5"]
OURS = PodId("team-a", "sweep-1-master-0")


def only(text: str) -> dict[Field, float]:
    """Read the values of the one GPU of a text."""
    (reading,) = ExpositionParser().parse(text).gpus.values()
    return reading.values


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_tells_the_same(release: str) -> None:
    read = ExpositionParser().parse(exposition([gpu(1, ("team-a", OURS.name))], release))
    assert not read.problems
    (reading,) = [read.gpus[GpuId(uuid(1))]]
    assert reading.pods == {OURS}
    assert reading.values == {
        Field.UTILIZATION: 0.8,
        Field.MEMORY_COPY_UTILIZATION: 0.3,
        Field.MEMORY_USED: 20_000 * 2**20,
        Field.MEMORY_FREE: 61_000 * 2**20,
        Field.POWER: 300.0,
        Field.ENERGY: 1000.0,
        Field.TEMPERATURE: 60.0,
        Field.SM_CLOCK: 1755.0,
        Field.MEMORY_CLOCK: 2619.0,
        Field.XID: 0.0,
        Field.THROTTLE_REASONS: 0.0,
        Field.GRAPHICS_ACTIVE: 0.75,
        Field.SM_ACTIVE: 0.6,
        Field.TENSOR_ACTIVE: 0.25,
        Field.DRAM_ACTIVE: 0.5,
        Field.PCIE_TRANSMIT: 1e9,
        Field.PCIE_RECEIVE: 2e9,
        Field.NVLINK_TRANSMIT: 3e9,
        Field.NVLINK_RECEIVE: 4e9,
    }


@pytest.mark.parametrize("release", RELEASES)
def test_an_idle_gpu_has_no_pod(release: str) -> None:
    read = ExpositionParser().parse(exposition([gpu(1)], release))
    assert read.gpus[GpuId(uuid(1))].pods == set()


def test_labels_that_prometheus_gave_are_read_first() -> None:
    text = exposition([gpu(1, ("team-a", OURS.name))]).replace(
        'namespace="team-a",pod="sweep-1-master-0"',
        'namespace="gpu-operator",pod="dcgm-exporter-x",'
        'exported_namespace="team-a",exported_pod="sweep-1-master-0"',
    )
    assert ExpositionParser().parse(text).gpus[GpuId(uuid(1))].pods == {OURS}


def test_mig_instances_are_gpus_of_their_own() -> None:
    instances = [
        {**gpu(1, ("team-a", OURS.name)), "index": 0, "instance": "7", "profile": "1g.10gb"},
        {**gpu(1), "index": 0, "instance": "8", "profile": "2g.20gb"},
    ]
    read = ExpositionParser().parse(exposition(instances))
    assert {gpu.instance: reading.profile for gpu, reading in read.gpus.items()} == {
        "7": "1g.10gb",
        "8": "2g.20gb",
    }
    assert [reading.pods for reading in read.gpus.values()] == [{OURS}, set()]


def test_pods_that_share_a_gpu_are_all_named() -> None:
    read = ExpositionParser().parse(exposition([gpu(1, ("team-a", OURS.name), ("b", "other"))]))
    reading = read.gpus[GpuId(uuid(1))]
    assert reading.pods == {OURS, PodId("b", "other")}
    assert reading.values[Field.POWER] == 300.0
    assert not read.problems


def test_what_an_exporter_tells_of_each_pod_is_kept_apart() -> None:
    whole = exposition([gpu(1)])
    text = whole + "".join(
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="{uuid(1)}",namespace="n",pod="{pod}"}} {value}\n'
        for pod, value in (("a", 50), ("b", 30))
    )
    reading = ExpositionParser().parse(text).gpus[GpuId(uuid(1))]
    assert reading.values[Field.UTILIZATION] == 0.8
    assert reading.pod_values == {
        PodId("n", "a"): {Field.UTILIZATION: 0.5},
        PodId("n", "b"): {Field.UTILIZATION: 0.3},
    }


@pytest.mark.parametrize(
    "blank",
    [
        "9223372036854775792",
        "9223372036854775793",
        "9223372036854775794",
        "9223372036854775795",
        "2147483632",
        "2147483635",
        "140737488355328.000000",
        "140737488355331.000000",
        "NaN",
        "+Inf",
        "1e999",
    ],
)
def test_blank_values_are_no_values(blank: str) -> None:
    text = exposition([gpu(1)])
    text = re.sub(r"(DCGM_FI_DEV_POWER_USAGE\{.*\}) .*", rf"\1 {blank}", text)
    values = only(text)
    assert Field.POWER not in values
    assert values[Field.UTILIZATION] == 0.8


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("GPU_UTIL", 101),
        ("POWER_USAGE", -1.0),
        ("GPU_TEMP", 2000),
        ("SM_ACTIVE", 7.5),
        ("SM_CLOCK", 99_999),
    ],
)
def test_a_value_that_no_gpu_has_is_dropped_and_told(field: str, value: float) -> None:
    read = ExpositionParser().parse(exposition([gpu(1, **{field: value})]))
    (reading,) = read.gpus.values()
    assert len(reading.values) == 18
    assert "cannot be" in read.problems[0]


def test_a_value_told_twice_differently_is_dropped_and_told() -> None:
    text = exposition([gpu(1)])
    (line,) = [line for line in text.splitlines() if line.startswith("DCGM_FI_DEV_POWER_USAGE{")]
    read = ExpositionParser().parse(text + line.rpartition(" ")[0] + " 7.0\n")
    assert Field.POWER not in read.gpus[GpuId(uuid(1))].values
    assert "told twice" in read.problems[0]


def test_two_gpus_with_one_index_cannot_be() -> None:
    text = exposition([{**gpu(1), "index": 0}, {**gpu(2), "index": 0}, gpu(3)])
    read = ExpositionParser().parse(text)
    assert set(read.gpus) == {GpuId(uuid(3))}
    assert read.is_partial


def test_a_last_line_without_its_end_is_not_taken() -> None:
    text = exposition([gpu(1)])
    cut = text[: text.index("DCGM_FI_PROF_DRAM_ACTIVE{")] + (
        f'DCGM_FI_PROF_DRAM_ACTIVE{{gpu="0",UUID="{uuid(1)}"}} 0.5'
    )
    read = ExpositionParser().parse(cut)
    assert Field.DRAM_ACTIVE not in read.gpus[GpuId(uuid(1))].values
    assert "cut off" in read.problems[0]


@pytest.mark.parametrize(
    "text", ["", "\n", "<html>not found</html>\n", "go_goroutines 12\n", "DCGM_FI_DEV_GPU_UTIL 1\n"]
)
def test_what_holds_no_gpu_is_an_error(text: str) -> None:
    with pytest.raises(ExpositionError):
        ExpositionParser().parse(text)


def test_ten_thousand_series_are_read_in_a_moment_the_second_time() -> None:
    gpus = [{**gpu(number), "index": number} for number in range(1, 530)]
    text = exposition(gpus)
    assert text.count("\nDCGM") > 10_000
    parser = ExpositionParser()
    assert len(parser.parse(text).gpus) == 529
    began_at = time.process_time()
    assert len(parser.parse(text).gpus) == 529
    assert time.process_time() - began_at < 1.0


def test_hostile_text_takes_no_time() -> None:
    quotes = 'DCGM_FI_DEV_GPU_UTIL{a="' + '\\"' * 2_000_000 + '"} 1\n'
    contradictions = "".join(
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="{uuid(1)}",namespace="n",pod="{i}"}} {value}\n'
        for i in range(20_000)
        for value in (1, 2)
    )
    began_at = time.process_time()
    for text in (quotes, contradictions, "{" * 5_000_000, "DCGM_FI_DEV_GPU_UTIL{\n" * 200_000):
        with pytest.raises(ExpositionError):
            ExpositionParser().parse(text)
    assert time.process_time() - began_at < 20.0


# A reader of our own, as strict as can be: what the parser gives must stand in the text like this.
LINE = re.compile(
    r'^(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} ([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)(?: -?\d+)?$'
)
UUID = re.compile(r'(?:^|,)(?:UUID|uuid)="([^"]*)"')
INSTANCE = re.compile(r'(?:^|,)GPU_I_ID="([^"]*)"')


def told(text: str) -> set[tuple[str, str, Field, float]]:
    """Return all that whole lines of a text say of GPUs."""
    found = set()
    for line in text.split("\n")[:-1]:
        match = LINE.match(line)
        if match and match[1] in FIELDS and (gpu_uuid := UUID.search(match[2])):
            instance = INSTANCE.search(match[2])
            spec = FIELDS[match[1]]
            value = float(match[3])
            if not is_blank(value):
                where = (gpu_uuid[1], instance[1] if instance else "")
                found.add((*where, spec.field, value * spec.scale))
    return found


def mutated(text: str, random_: random.Random) -> str:
    """Return a text with one to five things broken in it."""
    for _ in range(random_.randint(1, 5)):
        at, length = random_.randrange(len(text) + 1), random_.choice([1, 1, 1, 4, 40, 400])
        match random_.randrange(6):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + text[at : at + length] * 2 + text[at + length :]
            case 2:
                text = text[:at]
            case 3:
                noise = random_.choice(['"', "\\", "{", "}", ",", "\n", " ", "\x00", "é", "-", "_"])
                text = text[:at] + noise + text[at:]
            case 4:
                other = random_.randrange(len(text) + 1)
                text = text[:at] + text[other : other + length] + text[at:]
            case _:
                replaced = chr(random_.randrange(32, 127))
                text = text[:at] + replaced + text[at + 1 :]
        text = text or "\n"
    return text


@pytest.mark.slow
def test_ten_thousand_damaged_expositions_never_give_what_they_do_not_say() -> None:
    random_ = random.Random(20261121)
    originals = [
        exposition([gpu(1, ("team-a", OURS.name)), gpu(2), gpu(3, ("b", "x"), ("b", "y"))], release)
        for release in RELEASES
    ]
    outcomes = {"error": 0, "partial": 0, "whole": 0}
    parser = ExpositionParser()
    for number in range(10_000):
        text = mutated(originals[number % len(originals)], random_)
        try:
            read = parser.parse(text)
        except ExpositionError:
            outcomes["error"] += 1
            continue
        outcomes["partial" if read.is_partial else "whole"] += 1
        taken = {
            (where.uuid, where.instance, field, value)
            for where, reading in read.gpus.items()
            for field, value in reading.values.items()
        }
        assert taken <= told(text), (number, taken - told(text), text)
    assert min(outcomes.values()) > 50, outcomes
