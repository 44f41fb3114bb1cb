"""Server-side embedding for LangChain. Needs `langchain-core`: `pip install sheaf-client[langchain]`."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from .connection import Connection
from .embedding import MINILM, SheafEmbeddingFunction


class SheafEmbeddings(Embeddings):
    """Vectors of the server's models; the settings are those of `SheafEmbeddingFunction`."""

    def __init__(self, model: str = MINILM, *, connection: Connection | None = None, **settings: object) -> None:
        self._function = SheafEmbeddingFunction(model, connection=connection, **settings)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in vector] for vector in self._function(texts)] if texts else []

    def embed_query(self, text: str) -> list[float]:
        return [float(x) for x in self._function.embed_query([text])[0]]
