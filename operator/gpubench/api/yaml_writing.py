"""Plain values -> YAML text that kubectl and PyYAML read alike."""

from __future__ import annotations

from typing import Any

import yaml

from gpubench.api.yaml_reading import plain_scalar


def to_yaml(value: Any) -> str:
    """Return plain JSON values as YAML text, keys in the order in which they are."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Writes equal values out again: a manifest with anchors is hard to read."""

    ignore_aliases = staticmethod(lambda _data: True)  # type: ignore[assignment]


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if not isinstance(plain_scalar(text), str):
        # Without quotes kubectl reads 3e-4 as a number and y as true; PyYAML would not quote them.
        style = "'"
    elif not text.replace("\n", "").isprintable():
        # In other styles PyYAML loses the line breaks that only YAML knows, such as U+0085.
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
