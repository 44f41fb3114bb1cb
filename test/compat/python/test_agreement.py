"""Without any package of ours: what stock functions embed and what the server embeds for the same collection agree."""

import os
from pathlib import Path

import httpx
import numpy as np
import onnxruntime
import pytest
from chromadb import K, Knn, Schema, Search, SparseVectorIndexConfig
from chromadb.utils.embedding_functions import ChromaBm25EmbeddingFunction, DefaultEmbeddingFunction
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2
from conftest import HEADERS, fresh_name
from tokenizers import Tokenizer

BUNDLED = Path(__file__).parents[3] / "packages/model-minilm"
PUBLISHED = ONNXMiniLM_L6_V2.DOWNLOAD_PATH / "onnx/model.onnx"
TEXTS = [
    "Ships wait in the harbour until the tide rises.",
    "running runners ran, RUNNING! a the of",
    "Œuvre café naïve straße ＦＵＬＬ ｗｉｄｔｈ e\u0301",
    "東京の天気 🐝🐝 mixed スクリプト text",
    "snake_case kebab-case don't U.S.A. 3.14159 v2.0",
    "word " * 200,
    "x" * 60,
    "the of and",
]


class BundledSession:
    """The bundled graph as `default` calls the published one, which has no pooling: it gives each token the pooled
    vector, whose mean over the tokens is itself."""

    def __init__(self):
        self._session = onnxruntime.InferenceSession(BUNDLED / "onnx/model.onnx", providers=["CPUExecutionProvider"])

    def run(self, _, inputs):
        names = ("input_ids", "attention_mask")
        (pooled,) = self._session.run(None, {name: inputs[name] for name in names})
        return [np.repeat(pooled[:, None, :], inputs["input_ids"].shape[1], axis=1)]


@pytest.fixture
def bundled(monkeypatch):
    """`default` with the weights that come with Sheaf: tokenizing, padding, batches and scaling are its own."""
    tokenizer = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=256)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=256)
    session = BundledSession()
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "model", session)
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "tokenizer", tokenizer)
    monkeypatch.setattr(ONNXMiniLM_L6_V2, "_download_model_if_not_exists", lambda self: None)


def post(url, collection, route, body):
    path = f"/api/v2/tenants/default_tenant/databases/default_database/collections/{collection.id}/{route}"
    answer = httpx.post(url + path, json=body, headers=HEADERS, timeout=60)
    answer.raise_for_status()
    return answer.json()


def compare_default(client, url, tolerance):
    made = client.create_collection(fresh_name(), embedding_function=DefaultEmbeddingFunction())
    count = len(TEXTS)
    made.add(ids=[f"client{i}" for i in range(count)], documents=TEXTS)
    post(url, made, "add", {"ids": [f"server{i}" for i in range(count)], "documents": TEXTS})
    vectors = made.get(include=["embeddings"])["embeddings"]
    assert len(vectors) == 2 * count
    np.testing.assert_allclose(vectors[:count], vectors[count:], atol=tolerance, rtol=0)
    mine = made.search(Search().rank(Knn(query="boats in port")).select(K.SCORE))["scores"]
    search = {"rank": {"$knn": {"query": "boats in port"}}, "select": {"keys": ["#score"]}}
    theirs = post(url, made, "search", {"searches": [search]})["scores"]
    np.testing.assert_allclose(mine, theirs, atol=10 * tolerance)


def test_default_with_the_weights_of_the_server(client, url, bundled):
    compare_default(client, url, 1e-5)


@pytest.mark.skipif(not os.path.exists(PUBLISHED), reason="chromadb has not downloaded its model on this machine")
def test_default_with_the_published_weights(client, url):
    compare_default(client, url, 2e-4)


@pytest.mark.parametrize(
    "settings",
    [{}, {"k": 0.9, "b": 0.4, "avg_doc_length": 12.0, "token_max_length": 8, "stopwords": ["ships"]}],
)
def test_chroma_bm25_to_the_bit(client, url, settings):
    function = ChromaBm25EmbeddingFunction(**settings)
    index = SparseVectorIndexConfig(source_key=K.DOCUMENT, embedding_function=function, bm25=True)
    made = client.create_collection(fresh_name(), schema=Schema().create_index(index, "words"), embedding_function=None)
    texts = [text for text in TEXTS if text.isascii()]
    count = len(texts)
    vectors = [[1.0]] * count
    made.add(ids=[f"client{i}" for i in range(count)], embeddings=vectors, documents=texts)
    body = {"ids": [f"server{i}" for i in range(count)], "embeddings": vectors, "documents": texts}
    post(url, made, "add", body)
    words = [metadata and metadata["words"] for metadata in made.get()["metadatas"]]
    for text, mine, theirs in zip(texts, words[:count], words[count:], strict=True):
        assert mine.indices == theirs.indices, text
        assert np.array_equal(np.float32(mine.values), np.float32(theirs.values)), text
    assert words[0].indices and words[1].indices
    for query in texts[:3]:
        mine = made.search(Search().rank(Knn(query=query, key="words", limit=50)).select(K.SCORE))
        search = {"rank": {"$knn": {"query": query, "key": "words", "limit": 50}}, "select": {"keys": ["#score"]}}
        theirs = post(url, made, "search", {"searches": [search]})
        assert (mine["ids"], mine["scores"]) == (theirs["ids"], theirs["scores"])


def test_chroma_bm25_of_python_has_other_ids_for_words_beyond_ascii(url):
    """Chroma's own two functions differ: Python's hashes the bytes of UTF-8, that for JavaScript, which the server
    follows, the low byte of each UTF-16 unit. Values and all other words are the same."""
    text = "the café by the harbour"
    (python,) = ChromaBm25EmbeddingFunction()([text])
    body = {"texts": [text], "instructions": ""}
    headers = {**HEADERS, "x-service-embedding-model": "sheaf/bm25"}
    (server,) = httpx.post(f"{url}/embed_sparse", json=body, headers=headers).json()["embeddings"]
    assert len(set(python.indices) & set(server["indices"])) == 1
    np.testing.assert_array_equal(np.float32(sorted(python.values)), np.float32(sorted(server["values"])))
    assert len(python.indices) == len(server["indices"]) == 2
