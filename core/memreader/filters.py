"""Filters: which items, said as a dict of fields and operators; checked once, then a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Condition:
    """One field compared with one value."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; an empty one always does."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds; an empty one never does."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = Condition | AllOf | AnyOf | NoneOf
