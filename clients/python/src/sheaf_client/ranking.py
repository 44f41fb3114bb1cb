"""Numbers and times of the metadata as parts of chromadb's rank expressions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chromadb.execution.expression.operator import Key, Rank


@dataclass
class FieldValue(Rank):
    """The number that a record has in a field; a boolean counts as 0 or 1. Lower scores are better, so what should
    come first because it is large is multiplied by a negative number: `Knn(...) - FieldValue("rating", 0) * 0.1`.

    Without a `default` records that have no number there drop out.
    """

    key: Key | str
    default: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"$key": {"key": _name(self.key), **_given(self.default)}}


@dataclass
class Age(Rank):
    """How many half-lives ago a time of a record is, in seconds since 1970: 0 for what is new or to come.

    `now` is the time from which ages count, that of the call if omitted. Without a `default` records that have no time
    there drop out.
    """

    key: Key | str
    half_life_seconds: float
    now: datetime | None = None
    default: float | None = None

    def to_dict(self) -> dict[str, Any]:
        if not self.half_life_seconds > 0:
            raise ValueError("half_life_seconds: must be a number over 0")
        at = {} if self.now is None else {"now": self.now.timestamp()}
        half_life = {"half_life": self.half_life_seconds}
        return {"$age": {"key": _name(self.key), **half_life, **at, **_given(self.default)}}


def _name(key: Key | str) -> str:
    return key.name if isinstance(key, Key) else key


def _given(default: float | None) -> dict[str, float]:
    return {} if default is None else {"default": default}
