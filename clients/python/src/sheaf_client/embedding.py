"""The embedding functions named `sheaf`. Importing this module registers them with chromadb, which then opens
collections that were created with them by any program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space
from chromadb.base_types import SparseVector
from chromadb.utils.embedding_functions import register_embedding_function, register_sparse_embedding_function

from .connection import Connection, SheafError, batches, current_connection

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
BM25 = "sheaf/bm25"
TEXTS_OF_A_CALL = 2_048
TOO_LARGE = 413
DENSE_SETTINGS = frozenset({"model", "query_model", "truncate", "task", "instructions"})


@register_embedding_function
class SheafEmbeddingFunction(EmbeddingFunction[Documents]):
    """Dense vectors of the server's models, by `POST /embed`: one request for up to 2,048 texts.

    The settings are those that the server reads from a collection's description, so both embed alike. `connection` is
    not one of them; without it the vectors come from the server that `use_client` or `use_server` named, or
    `SHEAF_URL`.
    """

    def __init__(self, model: str = MINILM, *, connection: Connection | None = None, **settings: Any) -> None:
        unknown = settings.keys() - DENSE_SETTINGS
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
        if not isinstance(settings.get("truncate"), (bool, type(None))):
            raise TypeError("truncate: must be True or False")
        self._config: dict[str, Any] = {"model": model, **settings}
        self._connection = connection

    def __call__(self, input: Documents) -> Embeddings:
        return self._embed(self._config["model"], input, "documents")

    def embed_query(self, input: Documents) -> Embeddings:
        return self._embed(self._config.get("query_model") or self._config["model"], input, "query")

    def _embed(self, model: str, texts: Documents, target: str) -> Embeddings:
        instruction = _instruction(self._config, target)
        truncate = "end" if self._config.get("truncate") is True else "none"
        connection = self._connection or current_connection()
        vectors: list[Any] = []
        for batch in batches(texts, TEXTS_OF_A_CALL):
            body = {"texts": batch, "truncate": truncate, **instruction}
            vectors.extend(_told_of_cutting(connection, model, body)["embeddings"])
        return [np.array(vector, dtype=np.float32) for vector in vectors]

    @staticmethod
    def name() -> str:
        return "sheaf"

    def default_space(self) -> Space:
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        return ["cosine", "l2", "ip"]

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> SheafEmbeddingFunction:
        return SheafEmbeddingFunction(**config)

    def get_config(self) -> dict[str, Any]:
        return dict(self._config)


class LeftToServer(Sequence[SparseVector]):
    """What the sparse function gives for documents: as many vectors as there are texts, none of which can be had.

    chromadb compares the length, then puts the vectors it can iterate over into the metadata. So it puts none there,
    and the server computes what is missing, as it does for callers that have no embedding function.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("the server computes these vectors; sheaf_client.embed_sparse gives them to programs")


@register_sparse_embedding_function
class SheafSparseEmbeddingFunction:
    """Sparse vectors and BM25, computed by the server within the write or the search: no request of its own.

    Vectors of BM25 hold frequencies, and its queries weights, which only the server makes. So a document's vector is
    left out of the write, and a query stays a text. Not a subclass of chromadb's protocol, which would check vectors
    that are not there.
    """

    def __init__(self, model: str = BM25, **settings: Any) -> None:
        self._config: dict[str, Any] = {"model": model, **settings}

    def __call__(self, input: Documents) -> LeftToServer:
        return LeftToServer(len(input))

    def embed_query(self, input: Documents) -> list[str]:
        return list(input)

    @staticmethod
    def name() -> str:
        return "sheaf"

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> SheafSparseEmbeddingFunction:
        return SheafSparseEmbeddingFunction(**config)

    def get_config(self) -> dict[str, Any]:
        return dict(self._config)

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        return

    @staticmethod
    def validate_config(config: dict[str, Any]) -> None:
        return


def embed_sparse(
    texts: Sequence[str],
    model: str = BM25,
    *,
    labels: bool = False,
    connection: Connection | None = None,
) -> list[SparseVector]:
    """Sparse vectors of texts without a collection; `labels`: with the term behind each index.

    Those of `sheaf/bm25` are weights with fixed statistics, as `chroma_bm25` makes them.
    """
    server = connection or current_connection()
    vectors: list[SparseVector] = []
    for batch in batches(texts, TEXTS_OF_A_CALL):
        body = {"texts": batch, "instructions": "", "fetch_labels": labels}
        for made in server.embed("/embed_sparse", model, body)["embeddings"]:
            vectors.append(SparseVector(made["indices"], made["values"], made.get("labels")))
    return vectors


def _told_of_cutting(connection: Connection, model: str, body: Mapping[str, Any]) -> Any:
    """`POST /embed`. A text that is too long may be meant for a collection that cuts, which the function cannot see."""
    try:
        return connection.embed("/embed", model, body)
    except SheafError as refusal:
        if refusal.status != TOO_LARGE:
            raise
        hint = "sheaf_client.upsert leaves documents to the server, which cuts them where `chunking` says so"
        raise SheafError(refusal.status, f"{refusal}; {hint}") from refusal


def _instruction(config: Mapping[str, Any], target: str) -> dict[str, str]:
    """As the server reads it: a text is for queries; an object has sentences by task, and wins over the server's."""
    task = config.get("task") or ""
    instructions = config.get("instructions")
    if isinstance(instructions, str):
        return {"instructions": instructions if target == "query" else ""}
    own = cast("Mapping[str, Mapping[str, str]]", instructions or {}).get(task) if task else None
    if own is not None:
        return {"instructions": own.get(target) or ""}
    return {"task": task, "target": target} if task else {"instructions": ""}
