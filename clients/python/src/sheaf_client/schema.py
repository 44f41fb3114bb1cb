"""A collection whose vectors the server computes."""

from __future__ import annotations

from typing import Any, Literal

from chromadb import Schema

from .embedding import BM25, MINILM


def hybrid_schema_json(
    model: str = MINILM,
    *,
    space: Literal["cosine", "l2", "ip"] = "cosine",
    sparse_key: str = "bm25",
    truncate: bool = False,
) -> dict[str, Any]:
    """The same JSON as `hybridSchema()` of `@sheaf/client`."""
    dense = {"type": "known", "name": "sheaf", "config": {"model": model, "truncate": truncate}}
    # Whose statistics it has, the server writes into the schema: one that does not know of them must not be told.
    sparse = {"type": "known", "name": "sheaf", "config": {"model": BM25}}
    vector = {"space": space, "embedding_function": dense, "source_key": "#document"}
    sparse_index = {"bm25": True, "embedding_function": sparse, "source_key": "#document"}
    return {
        "defaults": {},
        "keys": {
            "#embedding": {"float_list": {"vector_index": {"enabled": True, "config": vector}}},
            sparse_key: {"sparse_vector": {"sparse_vector_index": {"enabled": True, "config": sparse_index}}},
        },
    }


def hybrid_schema(
    model: str = MINILM,
    *,
    space: Literal["cosine", "l2", "ip"] = "cosine",
    sparse_key: str = "bm25",
    truncate: bool = False,
) -> Schema:
    """A dense index and a BM25 index over the documents, for `create_collection(name, schema=hybrid_schema())`.

    The server fills the BM25 index, which scores by the average length and the document frequencies of the
    collection. `truncate` cuts documents over the model's limit instead of refusing them.
    """
    made = hybrid_schema_json(model, space=space, sparse_key=sparse_key, truncate=truncate)
    return Schema.deserialize_from_json(made)
