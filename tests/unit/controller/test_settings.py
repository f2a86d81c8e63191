"""The settings file: what is wrong with it is told in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.api.enums import WorkloadKind
from gpubench.controller.main import main
from gpubench.controller.settings import OperatorSettings, SettingsError, read_settings


def read(tmp_path: Path, text: str | bytes) -> OperatorSettings:
    file = tmp_path / "settings.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_settings(file)


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "null"])
def test_everything_has_a_default(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == OperatorSettings()


def test_what_is_set_reaches_the_pods(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "images: {imageRecognition: a/b:1}\nimagePullSecrets: [key]\ngpuResource: amd.com/gpu\n"
        "simulatedGpus: true\nrunAsUser: 5\nruntimeClassName: nvidia\n",
    )
    pods = settings.pods
    assert pods.images[WorkloadKind.IMAGE_RECOGNITION] == "a/b:1"
    assert pods.image_pull_secrets == ("key",)
    assert (pods.gpu_resource, pods.simulated_gpus) == ("amd.com/gpu", True)
    assert (pods.run_as_user, pods.runtime_class_name) == (5, "nvidia")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("image: {}", "image: unknown field"),
        ("images: {imagerecognition: x}", "images.imagerecognition: unknown field"),
        ("httpPort: http", "httpPort"),
        ("httpPort: 70000", "httpPort"),
        ("simulatedGpus: maybe", "simulatedGpus"),
        ("namespaces: lab", "namespaces"),
        ("namespaces: [Lab]", "namespaces[0]"),
        ("maxGpus: 0", "maxGpus"),
        ("runAsUser: 0", "runAsUser"),
        ("- a\n- list", "a mapping"),
        ("[]", "a mapping"),
        ("text", "a mapping"),
        ("0", "a mapping"),
        ("a: [", "settings.yaml"),
        ("a: b: c\n", "settings.yaml"),
        ("!!python/object:os.system x", "settings.yaml"),
        (b"\xff\xfe\x00", "settings.yaml"),
    ],
)
def test_bad_settings_are_one_clear_line(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(str(tmp_path / "settings.yaml"))
    assert words in line


def test_each_problem_has_its_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, "httpPort: 0\nleaseSeconds: 1\n")
    assert len(str(caught.value).splitlines()) == 2


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^\S*none\.yaml: .*No such file"):
        read_settings(tmp_path / "none.yaml")


def test_process_ends_with_the_line_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("httpPorts: 1\n", encoding="utf-8")
    assert main(["--settings", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "httpPorts" in line
