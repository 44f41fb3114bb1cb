"""A collection whose vectors the server computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from chromadb import Schema

from .embedding import BM25, MINILM


def hybrid_schema_json(
    model: str = MINILM,
    *,
    space: Literal["cosine", "l2", "ip"] = "cosine",
    sparse_key: str = "bm25",
    truncate: bool = False,
    chunking: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same JSON as `hybridSchema()` of `@sheaf/client`."""
    dense = {"type": "known", "name": "sheaf", "config": {"model": model, "truncate": truncate}}
    # Whose statistics it has, the server writes into the schema: one that does not know of them must not be told.
    sparse = {"type": "known", "name": "sheaf", "config": {"model": BM25}}
    vector = {"space": space, "embedding_function": dense, "source_key": "#document"}
    sparse_index = {"bm25": True, "embedding_function": sparse, "source_key": "#document"}
    made = {
        "defaults": {},
        "keys": {
            "#embedding": {"float_list": {"vector_index": {"enabled": True, "config": vector}}},
            sparse_key: {"sparse_vector": {"sparse_vector_index": {"enabled": True, "config": sparse_index}}},
        },
    }
    return made if chunking is None else {**made, "chunking": dict(chunking)}


class ChunkedSchema(Schema):
    """A schema that says how documents are cut, which chromadb's own leaves out of what it sends."""

    chunking: Mapping[str, Any]

    def serialize_to_json(self) -> dict[str, Any]:
        return {**super().serialize_to_json(), "chunking": dict(self.chunking)}


def hybrid_schema(
    model: str = MINILM,
    *,
    space: Literal["cosine", "l2", "ip"] = "cosine",
    sparse_key: str = "bm25",
    truncate: bool = False,
    chunking: Mapping[str, Any] | None = None,
) -> Schema:
    """A dense index and a BM25 index over the documents, for `create_collection(name, schema=hybrid_schema())`.

    The server fills the BM25 index, which scores by the average length and the document frequencies of the
    collection. `truncate` cuts documents over the model's limit instead of refusing them. `chunking`, such as
    `{"by": "headings", "size": 200}`, cuts documents into chunks that are records of their own: write them with
    `sheaf_client.upsert`, which leaves their vectors to the server.
    """
    made = hybrid_schema_json(model, space=space, sparse_key=sparse_key, truncate=truncate)
    if chunking is None:
        return Schema.deserialize_from_json(made)
    schema = ChunkedSchema.deserialize_from_json(made)
    cast("ChunkedSchema", schema).chunking = chunking
    return schema
