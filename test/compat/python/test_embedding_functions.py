"""The embedding functions that call a server through CHROMA_EMBED_URL, and BM25, which the server has to agree with."""

from pathlib import Path

import httpx
import numpy as np
import pytest
from chromadb import K, Knn, Schema, Search, SparseVectorIndexConfig, VectorIndexConfig
from chromadb.utils.embedding_functions import ChromaBm25EmbeddingFunction
from chromadb.utils.embedding_functions.chroma_cloud_qwen_embedding_function import (
    ChromaCloudQwenEmbeddingFunction,
    ChromaCloudQwenEmbeddingModel,
)
from chromadb.utils.embedding_functions.chroma_cloud_splade_embedding_function import (
    ChromaCloudSpladeEmbeddingFunction,
)
from conftest import HEADERS, KEY, fresh_name

EXAMPLES = Path(__file__).parents[3] / "examples/quick-start"
TEXTS = ["a harbour at dawn", "bees on the heather"]
QWEN = ChromaCloudQwenEmbeddingModel.QWEN3_EMBEDDING_0p6B


@pytest.fixture(autouse=True)
def environment(monkeypatch, url):
    monkeypatch.setenv("CHROMA_API_KEY", KEY)
    monkeypatch.setenv("CHROMA_EMBED_URL", url)


def qwen(task=""):
    return ChromaCloudQwenEmbeddingFunction(model=QWEN, task=task)


def post(url, collection, route, body):
    path = f"/api/v2/tenants/default_tenant/databases/default_database/collections/{collection.id}/{route}"
    answer = httpx.post(url + path, json=body, headers=HEADERS)
    answer.raise_for_status()
    return answer.json()


def test_sheaf_can_be_registered_for_a_collection_that_another_program_made(client, url, monkeypatch):
    monkeypatch.setenv("SHEAF_URL", url)
    monkeypatch.setenv("SHEAF_KEY", KEY)
    monkeypatch.syspath_prepend(EXAMPLES)
    __import__("sheaf_embedding")
    name = fresh_name()
    config = {"model": "sentence-transformers/all-MiniLM-L6-v2", "truncate": True}
    function = {"type": "known", "name": "sheaf", "config": config}
    index = {"enabled": True, "config": {"space": "cosine", "embedding_function": function}}
    schema = {"defaults": {}, "keys": {"#embedding": {"float_list": {"vector_index": index}}}}
    path = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    httpx.post(url + path, json={"name": name, "schema": schema}, headers=HEADERS).raise_for_status()
    found = client.get_collection(name)
    found.add(ids=["client"], documents=TEXTS[:1])
    post(url, found, "add", {"ids": ["server", "bees"], "documents": TEXTS[:1] + TEXTS[1:]})
    vectors = found.get(ids=["client", "server"], include=["embeddings"])["embeddings"]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    assert found.query(query_texts=["insects"], n_results=1)["ids"] == [["bees"]]
    assert found.search(Search().rank(Knn(query="insects")).limit(1))["ids"] == [["bees"]]


def test_qwen_embeds_documents():
    vectors = qwen()(TEXTS)
    assert [vector.shape for vector in vectors] == [(48,), (48,)]
    np.testing.assert_allclose([np.linalg.norm(vector) for vector in vectors], [1, 1], atol=1e-5)


def test_qwen_puts_the_instruction_of_its_task_before_queries():
    (document, *_) = qwen("nl_to_code")(TEXTS)
    (query, *_) = qwen("nl_to_code").embed_query(TEXTS)
    (plain, *_) = qwen().embed_query(TEXTS)
    np.testing.assert_array_equal(plain, document)
    assert not np.array_equal(query, document)


def test_qwen_is_stored_and_the_server_embeds_as_the_client_does(client, url):
    made = client.create_collection(fresh_name(), embedding_function=qwen("nl_to_code"))
    assert made.configuration["hnsw"]["space"] == "cosine"
    made.add(ids=["client"], documents=TEXTS[:1])
    post(url, made, "add", {"ids": ["server"], "documents": TEXTS[:1]})
    vectors = made.get(include=["embeddings"])["embeddings"]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    again = client.get_collection(made.name)
    by_client = again.query(query_texts=["dawn"], include=["distances"])["distances"]
    search = {"rank": {"$knn": {"query": "dawn"}}, "select": {"keys": ["#score"]}}
    by_server = post(url, made, "search", {"searches": [search]})["scores"]
    np.testing.assert_allclose(by_server, by_client, atol=1e-6)


@pytest.mark.parametrize("labels", [False, True])
def test_splade_embeds(labels):
    vectors = ChromaCloudSpladeEmbeddingFunction(include_tokens=labels)(TEXTS)
    assert len(vectors) == 2
    for vector in vectors:
        assert vector.indices == sorted(set(vector.indices))
        assert len(vector.values) == len(vector.indices)
        assert (vector.labels is None) is not labels
        assert not labels or len(vector.labels) == len(vector.indices)


def test_a_hybrid_collection(client):
    splade = ChromaCloudSpladeEmbeddingFunction()
    schema = (
        Schema()
        .create_index(VectorIndexConfig(space="cosine", embedding_function=qwen()))
        .create_index(SparseVectorIndexConfig(source_key=K.DOCUMENT, embedding_function=splade), "splade")
    )
    made = client.create_collection(fresh_name(), schema=schema)
    made.add(ids=["dawn", "bees"], documents=TEXTS)
    (expected,) = splade(TEXTS[:1])
    assert made.get(ids=["dawn"])["metadatas"][0]["splade"] == expected
    found = made.search(Search().rank(Knn(query=TEXTS[1], key="splade")).select(K.SCORE))
    assert sorted(found["ids"][0]) == ["bees", "dawn"]
    assert made.search(Search().rank(Knn(query=TEXTS[1])))["ids"][0][0] == "bees"


def test_bm25_ranks_alike_whether_client_or_server_embeds(client, url):
    index = SparseVectorIndexConfig(
        source_key=K.DOCUMENT, embedding_function=ChromaBm25EmbeddingFunction(), bm25=True
    )
    made = client.create_collection(
        fresh_name(), schema=Schema().create_index(index, "words"), embedding_function=None
    )
    vectors = [[1.0], [2.0]]
    made.add(ids=["client0", "client1"], embeddings=vectors, documents=TEXTS)
    post(url, made, "add", {"ids": ["server0", "server1"], "embeddings": vectors, "documents": TEXTS})
    words = [(m["words"].indices, m["words"].values) for m in made.get()["metadatas"]]
    assert words[2:] == words[:2]
    found = made.search(Search().rank(Knn(query="heather bees", key="words")))
    assert found["ids"] == [["client1", "server1"]]


def test_without_weights_the_text_of_the_503_reaches_the_caller(bare_url, monkeypatch):
    monkeypatch.setenv("CHROMA_EMBED_URL", bare_url)
    with pytest.raises(RuntimeError, match="Qwen/Qwen3-Embedding-0.6B"):
        qwen()(TEXTS)
    with pytest.raises(RuntimeError, match="HTTP 503.*prithivida/Splade_PP_en_v1"):
        ChromaCloudSpladeEmbeddingFunction()(TEXTS)


def test_a_wrong_key_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("CHROMA_API_KEY", "wrong")
    with pytest.raises(RuntimeError, match="key is not valid"):
        qwen()(TEXTS)
