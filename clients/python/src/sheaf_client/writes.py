"""Writes that leave every vector to the server, which also cuts documents into chunks where the collection says so.

chromadb's own `add`, `upsert` and `update` send a vector for each document, which a document that is cut cannot have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chromadb import Collection
from chromadb.api.types import serialize_metadata

from .extensions import post_to, present

DOCUMENTS_OF_A_CALL = 100
Metadatas = Sequence[Mapping[str, Any] | None]
Chunking = Mapping[str, Any]


def add(
    collection: Collection,
    ids: Sequence[str],
    documents: Sequence[str],
    *,
    metadatas: Metadatas | None = None,
    uris: Sequence[str | None] | None = None,
    chunking: Chunking | None = None,
) -> None:
    """Documents that are there stay as they are. The rest is as with `upsert`."""
    _write(collection, "add", ids, documents=documents, metadatas=metadatas, uris=uris, chunking=chunking)


def upsert(
    collection: Collection,
    ids: Sequence[str],
    documents: Sequence[str],
    *,
    metadatas: Metadatas | None = None,
    uris: Sequence[str | None] | None = None,
    chunking: Chunking | None = None,
) -> None:
    """Writes documents in calls of 100, each of which the server stores whole or not at all.

    Where they are cut, chunks `X#0`, `X#1`, … of an older document X go with it. `chunking` is how these documents are
    cut whatever the collection says: `{"by": "tokens"}`, `{"by": "none"}`.
    """
    _write(collection, "upsert", ids, documents=documents, metadatas=metadatas, uris=uris, chunking=chunking)


def update(
    collection: Collection,
    ids: Sequence[str],
    documents: Sequence[str] | None = None,
    *,
    metadatas: Metadatas | None = None,
    uris: Sequence[str | None] | None = None,
    chunking: Chunking | None = None,
) -> None:
    """Ids that are not there are passed over. Without documents metadata and URIs of all chunks change."""
    _write(collection, "update", ids, documents=documents, metadatas=metadatas, uris=uris, chunking=chunking)


def _write(
    collection: Collection,
    route: str,
    ids: Sequence[str],
    *,
    chunking: Chunking | None,
    **columns: Sequence[Any] | None,
) -> None:
    if isinstance(ids, str):
        raise TypeError("ids: must be a list, not one text")
    given = {name: column for name, column in columns.items() if column is not None}
    for name, column in given.items():
        if isinstance(column, str) or len(column) != len(ids):
            raise ValueError(f"{name}: must have one item for each of the {len(ids)} ids")
    if "metadatas" in given:
        given["metadatas"] = [serialize_metadata(each) for each in given["metadatas"]]
    for start in range(0, len(ids), DOCUMENTS_OF_A_CALL):
        part = slice(start, start + DOCUMENTS_OF_A_CALL)
        body = {"ids": list(ids[part]), **{name: list(column[part]) for name, column in given.items()}}
        post_to(collection, route, {**body, **present(chunking=chunking)})
