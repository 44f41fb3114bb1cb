"""What the routes beyond Chroma answer with, as it is sent. `docs/reference/extensions.md` has the meanings."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired


class FacetCount(TypedDict):
    value: str | int | float | bool
    count: int


# `from` is a word of the language.
Bucket = TypedDict("Bucket", {"from": float, "to": float, "count": int})


class Facet(TypedDict):
    values: list[FacetCount]
    missing: int
    other: int
    min: float | None
    max: float | None
    histogram: NotRequired[list[Bucket]]


class Highlight(TypedDict):
    """`start` and `end` count UTF-16 units; `text_of` of this package cuts a document by them."""

    start: int
    end: int
    by: list[Literal["$knn", "$contains", "$regex"]]


class Snippet(TypedDict):
    text: str
    start: int
    highlights: list[Highlight]


class WhyNot(TypedDict):
    id: str
    reason: Literal["absent", "filtered", "outside_leaf", "below_page", "grouped_out"]
    path: NotRequired[str]
    rank: NotRequired[int]


class Trace(TypedDict):
    """A node of the rank; of a leaf also where its value comes from."""

    op: str
    value: float | Literal["NaN", "Infinity", "-Infinity"]
    operands: NotRequired[list[Trace]]
    key: NotRequired[str]
    rank: NotRequired[int]
    distance: NotRequired[float | Literal["NaN", "Infinity", "-Infinity"]]
    dot_product: NotRequired[float | Literal["NaN", "Infinity", "-Infinity"]]
    terms: NotRequired[list[dict[str, Any]]]
    model: NotRequired[str]
    tokens: NotRequired[list[str]]
    stored: NotRequired[float | int | bool]


class SearchPlan(TypedDict):
    records: int
    rows: int
    ranked: int | None
    grouped: int | None
    leaves: list[dict[str, Any]]
    milliseconds: dict[str, float]


class GetReply(TypedDict):
    ids: list[str]
    documents: list[str | None] | None
    embeddings: list[list[float]] | None
    metadatas: list[dict[str, Any] | None] | None
    uris: list[str | None] | None
    include: list[str]
    highlights: NotRequired[list[list[Highlight] | None]]
    snippets: NotRequired[list[Snippet | None]]


class SearchReply(TypedDict):
    """Lists have an entry for each search, and within it one for each record."""

    ids: list[list[str]]
    documents: list[list[str | None] | None]
    embeddings: list[list[list[float]] | None]
    metadatas: list[list[dict[str, Any] | None] | None]
    scores: list[list[float | None] | None]
    select: list[list[str]]
    highlights: NotRequired[list[list[list[Highlight] | None] | None]]
    snippets: NotRequired[list[list[Snippet | None] | None]]
    traces: NotRequired[list[list[Trace | None] | None]]
    plans: NotRequired[list[SearchPlan | None]]
    why_not: NotRequired[list[list[WhyNot] | None]]
