"""An embedding function for Python's `chromadb` that calls `POST /embed` of Sheaf.

Importing this module registers the function, so that the client can use a collection that was created with it by any
program. Sheaf knows it, too: in the same collection it embeds the texts of programs that send no vectors.
"""

import os

import httpx
import numpy as np
from chromadb import Documents, EmbeddingFunction, Embeddings
from chromadb.utils.embedding_functions import register_embedding_function


@register_embedding_function
class SheafEmbeddingFunction(EmbeddingFunction[Documents]):
    def __init__(self, **config):
        unknown = config.keys() - {"model", "query_model", "truncate"}
        if unknown:
            raise ValueError(f"unknown settings: {', '.join(sorted(unknown))}")
        self._config = {"model": "sentence-transformers/all-MiniLM-L6-v2", **config}

    def __call__(self, input: Documents) -> Embeddings:
        return self._embed(self._config["model"], input)

    def embed_query(self, input: Documents) -> Embeddings:
        return self._embed(self._config.get("query_model") or self._config["model"], input)

    @staticmethod
    def _embed(model, texts):
        response = httpx.post(
            f"{os.environ['SHEAF_URL']}/embed",
            json={"texts": texts, "instructions": ""},
            headers={
                "x-service-token": os.environ.get("SHEAF_KEY", ""),
                "x-service-embedding-model": model,
            },
            timeout=60,
        )
        reply = response.json()
        if response.is_error:
            raise RuntimeError(reply["error"])
        return [np.array(vector, dtype=np.float32) for vector in reply["embeddings"]]

    @staticmethod
    def name():
        return "sheaf"

    def default_space(self):
        return "cosine"

    def supported_spaces(self):
        return ["cosine", "l2", "ip"]

    @staticmethod
    def build_from_config(config):
        return SheafEmbeddingFunction(**config)

    def get_config(self):
        return self._config
