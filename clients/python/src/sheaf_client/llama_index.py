"""Server-side embedding for LlamaIndex. Needs `llama-index-core`: `pip install sheaf-client[llama-index]`."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.embeddings import BaseEmbedding

from .connection import Connection
from .embedding import MINILM, SheafEmbeddingFunction


class SheafEmbedding(BaseEmbedding):
    """Vectors of the server's models; the settings are those of `SheafEmbeddingFunction`."""

    _function: SheafEmbeddingFunction = PrivateAttr()

    def __init__(
        self,
        model: str = MINILM,
        *,
        connection: Connection | None = None,
        embed_batch_size: int = 256,
        **settings: Any,
    ) -> None:
        super().__init__(model_name=model, embed_batch_size=embed_batch_size)
        self._function = SheafEmbeddingFunction(model, connection=connection, **settings)

    @classmethod
    def class_name(cls) -> str:
        return "SheafEmbedding"

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in vector] for vector in self._function(texts)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(x) for x in self._function.embed_query([query])[0]]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)
