"""What every resource model shares: naming, strictness and the scalar types of a spec."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

API_GROUP = "gpubench.io"
API_VERSION = "v1alpha1"
API_GROUP_VERSION = f"{API_GROUP}/{API_VERSION}"

DECIMAL_PATTERN = r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
DNS_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


class ApiModel(BaseModel):
    """A frozen model whose JSON uses camelCase and which refuses fields that it does not know."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
        extra="forbid",
        frozen=True,
        # `model_` is a word of this field (model_name, model_flops), not pydantic's.
        protected_namespaces=(),
    )

    def to_json_dict(self, *, exclude_none: bool = True) -> dict[str, Any]:
        """Return the model as plain JSON values under its camelCase names."""
        return self.model_dump(mode="json", exclude_none=exclude_none)


def cel_rules(*rules: tuple[str, str] | tuple[str, str, str]) -> ConfigDict:
    """Return the model configuration that makes the API server check these CEL rules.

    Each rule comes with the message that a user reads when it does not hold and, where one field
    is at fault, with the path of that field from here, such as `.dataset.path`.
    """
    validations: list[JsonValue] = [
        dict(zip(("rule", "message", "fieldPath"), rule, strict=False)) for rule in rules
    ]
    return ConfigDict(json_schema_extra={"x-kubernetes-validations": validations})


def refuse_duplicates(values: list[Any]) -> list[Any]:
    """Return the list; as the API server does for a list of type `set`, refuse a value twice."""
    for position, value in enumerate(values):
        if value in values[:position]:
            msg = f"{json.dumps(value)} is there twice"
            raise ValueError(msg)
    return values


AS_SET = {"x-kubernetes-list-type": "set"}
"""Schema of a list that holds no value twice; goes with `refuse_duplicates`."""


def _require_quotes(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        msg = f'write it in quotes: "{value}" (specs hold no floats, so that every reader agrees)'
        raise ValueError(msg)
    if isinstance(value, str) and not re.fullmatch(DECIMAL_PATTERN, value):
        msg = 'expected a decimal number in quotes, such as "0.001" or "3e-4"'
        raise ValueError(msg)
    return value


DecimalString = Annotated[
    str,
    Field(pattern=DECIMAL_PATTERN, max_length=32, examples=["0.001", "3e-4"]),
    # After the field, or the schema would lose its pattern.
    BeforeValidator(_require_quotes),
]
"""A non-negative decimal number written as a string, as Kubernetes resources do."""

DnsName = Annotated[str, Field(pattern=DNS_NAME_PATTERN, max_length=253)]
"""An RFC 1123 subdomain: the name of a Kubernetes object."""


def to_decimal(value: DecimalString) -> Decimal:
    """Return the number that a `DecimalString` holds."""
    return Decimal(value)
