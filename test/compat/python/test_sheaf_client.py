"""`clients/python`, installed from its wheel: collections that the server embeds for, from chromadb's own client."""

import json
import os
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import chromadb
import httpx
import numpy as np
import pytest
from chromadb import K, Knn, Rrf, Schema, Search, SparseVectorIndexConfig
from chromadb.utils.embedding_functions import register_embedding_function
from conftest import HEADERS, KEY, address, fresh_name, settings

import sheaf_client
from sheaf_client import Age, FieldValue, SheafEmbeddingFunction, hybrid_schema, hybrid_schema_json

TEXTS = [
    "Ships wait in the harbour until the tide rises.",
    "Honey bees dance to tell others where flowers are.",
    "Sourdough bread rises for a whole night.",
]
IDS = ["tide", "bees", "bread"]


@pytest.fixture(autouse=True)
def used(client):
    # The example of another file registers its own under the same name.
    register_embedding_function(SheafEmbeddingFunction)
    sheaf_client.use_client(client)


@pytest.fixture
def notes(client):
    made = client.create_collection(fresh_name(), schema=hybrid_schema())
    made.add(ids=IDS, documents=TEXTS, metadatas=[{"year": 1999}, {"year": 2004}, {"year": 1999}])
    return made


@pytest.fixture
def films(client):
    made = client.create_collection(fresh_name(), embedding_function=None)
    made.add(
        ids=["harbour", "bread", "bees", "ferry"],
        embeddings=[[0, 0], [3, 0], [0, 2], [1, 0]],
        metadatas=[{"year": 1999, "rating": 7.5}, {"year": 2004, "rating": 6.0}, {"year": 1999}, {"rating": 9.0}],
    )
    return made


def post(url, collection, route, body):
    path = f"/api/v2/tenants/default_tenant/databases/default_database/collections/{collection.id}/{route}"
    answer = httpx.post(url + path, json=body, headers=HEADERS)
    answer.raise_for_status()
    return answer.json()


def test_the_hybrid_schema_is_that_of_the_client_for_javascript():
    for arguments, expected in json.loads(os.environ["SHEAF_HYBRID_SCHEMAS"]):
        assert hybrid_schema_json(**arguments) == expected


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_collection_that_another_program_made_is_opened_and_embedded_alike(client, url):
    name = fresh_name()
    path = f"{url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    body = {"name": name, "schema": hybrid_schema_json()}
    httpx.post(path, json=body, headers=HEADERS).raise_for_status()
    found = client.get_collection(name)
    found.add(ids=["python0", "python1"], documents=TEXTS[:2])
    post(url, found, "add", {"ids": ["server0", "server1"], "documents": TEXTS[:2]})
    got = found.get(include=["embeddings", "metadatas"])
    assert got["ids"] == ["python0", "python1", "server0", "server1"]
    np.testing.assert_allclose(got["embeddings"][:2], got["embeddings"][2:], atol=1e-6)
    assert got["metadatas"][:2] == got["metadatas"][2:]
    assert got["metadatas"][0]["bm25"].indices


def test_schemas_made_here_and_elsewhere_are_stored_alike(client, url, notes):
    path = f"{url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    elsewhere = httpx.post(path, json={"name": fresh_name(), "schema": hybrid_schema_json()}, headers=HEADERS).json()
    here = httpx.get(f"{path}/{notes.name}", headers=HEADERS).json()
    for key in ("#embedding", "bm25"):
        assert here["schema"]["keys"][key] == elsewhere["schema"]["keys"][key]


def test_text_queries_find_by_both_indexes(client, notes):
    again = client.get_collection(notes.name)
    assert again.query(query_texts=["boats in port"], n_results=1)["ids"] == [["tide"]]
    assert again.search(Search().rank(Knn(query="insects")).limit(1))["ids"] == [["bees"]]
    assert again.search(Search().rank(Knn(query="rising bread", key="bm25")).limit(1))["ids"] == [["bread"]]
    fused = Rrf([Knn(query="the tide", return_rank=True), Knn(query="the tide", key="bm25", return_rank=True)])
    assert again.search(Search().rank(fused).limit(1))["ids"] == [["tide"]]


def test_the_vectors_of_bm25_follow_their_documents(notes):
    before = notes.get(ids=["tide"])["metadatas"][0]["bm25"]
    notes.update(ids=["tide"], documents=["Boats sail."])
    after = notes.get(ids=["tide"])["metadatas"][0]
    assert after["bm25"].indices != before.indices
    assert after["year"] == 1999
    notes.upsert(ids=["tide"], documents=TEXTS[:1])
    assert notes.get(ids=["tide"])["metadatas"][0]["bm25"] == before
    assert notes.search(Search().rank(Knn(query="harbour", key="bm25")))["ids"] == [["tide"]]


def test_a_query_has_the_score_that_the_server_gives_its_text(url, notes):
    for key in ("#embedding", "bm25"):
        mine = notes.search(Search().rank(Knn(query="bees dance", key=key)).select(K.SCORE))
        search = {"rank": {"$knn": {"query": "bees dance", "key": key}}, "select": {"keys": ["#score"]}}
        theirs = post(url, notes, "search", {"searches": [search]})
        assert mine["ids"] == theirs["ids"]
        np.testing.assert_allclose(mine["scores"], theirs["scores"], atol=1e-6)


def test_an_index_of_a_sparse_model_is_filled_and_searched(client):
    splade = sheaf_client.SheafSparseEmbeddingFunction("prithivida/Splade_PP_en_v1")
    schema = Schema().create_index(SparseVectorIndexConfig(source_key=K.DOCUMENT, embedding_function=splade), "splade")
    made = client.create_collection(fresh_name(), schema=schema, embedding_function=None)
    made.add(ids=["a"], embeddings=[[1.0]], documents=TEXTS[:1])
    (expected,) = sheaf_client.embed_sparse(TEXTS[:1], "prithivida/Splade_PP_en_v1")
    assert made.get()["metadatas"][0]["splade"].indices == expected.indices
    assert made.search(Search().rank(Knn(query=TEXTS[0], key="splade")))["ids"] == [["a"]]


def test_the_server_cuts_documents_that_are_left_to_it(client, url):
    made = client.create_collection(fresh_name(), schema=hybrid_schema(chunking={"by": "headings", "size": 64}))
    pages = ["# Tides\nShips leave.\n\n# Ferries\nThe ferry waits.\n", "# Bread\nIt rests.\n"]
    sheaf_client.upsert(made, ["sea", "kitchen"], pages, metadatas=[{"room": "sea"}, None], uris=["a", None])
    found = client.get_collection(made.name)
    got = found.get(ids=["sea"])
    assert got["ids"] == ["sea#0", "sea#1"]
    assert [each["parent"] for each in got["metadatas"]] == ["sea", "sea"]
    assert found.query(query_texts=["boats at high tide"], n_results=1)["ids"] == [["sea#0"]]
    assert found.search(Search().rank(Knn(query="bread", key="bm25")).limit(1))["ids"] == [["kitchen#0"]]
    sheaf_client.add(found, ["sea", "new"], ["other", "# A\nOne."])
    sheaf_client.update(found, ["sea"], metadatas=[{"room": "harbour"}])
    assert [each["room"] for each in found.get(ids=["sea"])["metadatas"]] == ["harbour", "harbour"]
    sheaf_client.upsert(found, ["sea"], ["words " * 200], chunking={"by": "tokens", "size": 32})
    assert sheaf_client.count(found, ids=["sea"]) > 5
    found.delete(ids=["sea"])
    assert sorted(found.get()["ids"]) == ["kitchen#0", "new#0"]
    sheaf_client.upsert(found, [f"{i}" for i in range(101)], ["short"] * 101)
    assert found.count() == 103
    with pytest.raises(Exception, match="send none"):
        found.upsert(ids=["sea"], documents=["short"])
    with pytest.raises(sheaf_client.SheafError, match=r"sheaf_client\.upsert"):
        found.upsert(ids=["sea"], documents=["the tide rises " * 200])
    with pytest.raises(ValueError, match="documents: must have one item"):
        sheaf_client.upsert(found, ["sea"], "text")


@pytest.mark.parametrize(
    "config",
    [
        {"model": "Qwen/Qwen3-Embedding-0.6B", "task": "nl_to_code"},
        {"model": "Qwen/Qwen3-Embedding-0.6B", "instructions": "Find what is meant"},
        {
            "model": "Qwen/Qwen3-Embedding-0.6B",
            "task": "mine",
            "instructions": {"mine": {"documents": "Keep", "query": "Find"}},
        },
        {"model": "sentence-transformers/all-MiniLM-L6-v2", "truncate": True},
    ],
)
def test_settings_mean_what_they_mean_to_the_server(client, url, config):
    made = client.create_collection(fresh_name(), embedding_function=SheafEmbeddingFunction(**config))
    text = "the tide rises " * (200 if config.get("truncate") else 1)
    made.add(ids=["python"], documents=[text])
    post(url, made, "add", {"ids": ["server"], "documents": [text]})
    vectors = made.get(include=["embeddings"])["embeddings"]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    mine = client.get_collection(made.name).search(Search().rank(Knn(query="rising")).select(K.SCORE))["scores"]
    search = {"rank": {"$knn": {"query": "rising"}}, "select": {"keys": ["#score"]}}
    np.testing.assert_allclose(mine, post(url, made, "search", {"searches": [search]})["scores"], atol=1e-5)


def test_the_words_of_a_refusal_and_unknown_settings_reach_the_caller(url, monkeypatch):
    with pytest.raises(sheaf_client.SheafError, match="256") as refused:
        SheafEmbeddingFunction()(["the tide rises " * 200])
    assert refused.value.status == 413
    wrong = SheafEmbeddingFunction(connection=sheaf_client.Connection.to(url, "wrong"))
    with pytest.raises(sheaf_client.SheafError, match="key is not valid"):
        wrong(TEXTS)
    with pytest.raises(ValueError, match="unknown settings: modle"):
        SheafEmbeddingFunction(modle="x")


def test_one_text_is_not_taken_for_a_list_of_its_letters(notes):
    for call in (
        lambda: sheaf_client.facets(notes, "year"),
        lambda: sheaf_client.count(notes, ids="tide"),
        lambda: sheaf_client.get(notes, include="documents"),
        lambda: sheaf_client.upsert(notes, "ab", ["x", "y"]),
        lambda: SheafEmbeddingFunction()("hello"),
        lambda: sheaf_client.embed_sparse("hello"),
    ):
        with pytest.raises(TypeError, match="not one text"):
            call()
    with pytest.raises(TypeError, match="truncate: must be True or False"):
        SheafEmbeddingFunction(truncate="zz")


def test_keys_are_sent_without_line_ends_and_never_told(url):
    assert len(SheafEmbeddingFunction(connection=sheaf_client.Connection.to(url, KEY + "\n"))(TEXTS[:1])) == 1
    for key in ("secret\nkey", "secret\u2026"):
        with pytest.raises(ValueError, match="key: has characters") as refused:
            sheaf_client.Connection.to(url, key)
        assert "secret" not in str(refused.value)


def test_what_does_not_answer_as_a_server_does_is_an_error_of_its_own():
    class Page(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}" if self.path.startswith("/json") else b"<html>")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    try:
        for url, message in [
            (here, "is not JSON"),
            (here + "/json", "has no embeddings"),
            ("http://127.0.0.1:1", "no answer from http://127.0.0.1:1"),
        ]:
            with pytest.raises(sheaf_client.SheafError, match=message) as failed:
                SheafEmbeddingFunction(connection=sheaf_client.Connection.to(url))(TEXTS[:1])
            assert failed.value.status == 0
    finally:
        server.shutdown()


def test_the_server_is_that_of_a_client_of_a_call_or_of_the_environment(url, client, monkeypatch):
    by_bearer = chromadb.HttpClient(**address(url), headers={"authorization": f"Bearer {KEY}"}, settings=settings())
    sheaf_client.use_client(by_bearer)
    by_client = SheafEmbeddingFunction()(TEXTS[:1])
    sheaf_client.use_server(url + "/", KEY)
    np.testing.assert_array_equal(SheafEmbeddingFunction()(TEXTS[:1]), by_client)
    monkeypatch.setattr(sheaf_client.connection, "_current", None)
    monkeypatch.delenv("SHEAF_URL")
    with pytest.raises(ValueError, match="use_client"):
        SheafEmbeddingFunction()(TEXTS[:1])
    monkeypatch.setenv("SHEAF_URL", url)
    np.testing.assert_array_equal(SheafEmbeddingFunction()(TEXTS[:1]), by_client)
    with pytest.raises(TypeError, match="client: must be"):
        sheaf_client.use_client(object())


def test_counts_and_facets(films):
    assert sheaf_client.count(films) == 4
    assert sheaf_client.count(films, where={"year": {"$lt": 2000}}) == 2
    assert sheaf_client.count(films, ids=["bees", "none"]) == 1
    found = sheaf_client.facets(films, ["year"], where={"rating": {"$gt": 5}}, limit=1, histogram=2)
    assert found["year"]["values"] == [{"value": 1999, "count": 1}]
    assert (found["year"]["missing"], found["year"]["other"], found["year"]["max"]) == (1, 1, 2004)
    assert [bucket["count"] for bucket in found["year"]["histogram"]] == [1, 1]


def test_order_and_highlights(films, notes):
    ordered = sheaf_client.get(films, order_by=[{"year": "asc"}, {"rating": "desc"}], limit=3, include=[])
    assert ordered["ids"] == ["harbour", "bees", "bread"]
    ordered = sheaf_client.search(films, Search().limit(2), order_by=[{"rating": "desc"}])
    assert ordered["ids"] == [["ferry", "harbour"]]
    search = Search().rank(Knn(query="rising tide", key="bm25")).limit(1).select(K.DOCUMENT, K.METADATA)
    found = sheaf_client.search(notes, search, highlight={"snippet": 30})
    document = found["documents"][0][0]
    words = [sheaf_client.text_of(document, mark["start"], mark["end"]) for mark in found["highlights"][0][0]]
    assert words == ["tide", "rises"]
    assert "tide rises" in found["snippets"][0][0]["text"]
    assert found["metadatas"][0][0]["bm25"].indices
    read = sheaf_client.get(notes, where_document={"$contains": "bees"}, highlight=True)
    assert read["highlights"] == [[{"start": 6, "end": 10, "by": ["$contains"]}]]
    assert sheaf_client.text_of("\U0001f41d bees", 3, 7) == "bees"


def test_fields_and_ages_in_a_rank(films):
    near = Knn(query=[0.0, 0.0], limit=3) - FieldValue("rating", 0) * 0.5
    assert films.search(Search().rank(near).select(K.SCORE))["scores"] == [[-3.75, -3.5, 4]]
    assert films.search(Search().rank(FieldValue(K("rating"))).limit(2))["ids"] == [["bread", "harbour"]]
    aged = Age("year", 10, now=datetime.fromtimestamp(2009, timezone.utc))
    found = films.search(Search().rank(aged).select(K.SCORE))
    assert (found["ids"], found["scores"]) == ([["bread", "harbour", "bees"]], [[0.5, 1, 1]])
    near = Knn(query=[0.0, 0.0], limit=4) * 0 + Age("year", 10, aged.now, default=9.0)
    assert films.search(Search().rank(near).select(K.SCORE))["scores"] == [[0.5, 1, 1, 9]]
    with pytest.raises(ValueError, match="half_life_seconds"):
        films.search(Search().rank(Age("year", 0)))


def test_results_that_differ_and_explained_searches(films):
    search = Search().rank(Knn(query=[1.0, 0.0], limit=4))
    assert sheaf_client.search(films, search, mmr={"lambda": 0.3, "limit": 3})["ids"] == [["ferry", "harbour", "bees"]]
    explained = sheaf_client.search(films, [search.limit(1)], explain=["harbour", "boat"])
    assert explained["traces"][0][0]["op"] == "$knn"
    assert explained["plans"][0]["records"] == 4
    reasons = {each["id"]: each["reason"] for each in explained["why_not"][0]}
    assert reasons == {"harbour": "below_page", "boat": "absent"}
    assert "why_not" not in sheaf_client.search(films, search, explain=True)


def test_what_is_refused_raises_as_with_chromadb(films, loop, url):
    with pytest.raises(Exception, match="histogram"):
        sheaf_client.facets(films, ["year"], histogram=0)
    client = loop.run_until_complete(chromadb.AsyncHttpClient(**address(url), headers=HEADERS, settings=settings()))
    other = loop.run_until_complete(client.create_collection(fresh_name(), embedding_function=None))
    with pytest.raises(TypeError, match="collection: must be"):
        sheaf_client.count(other)


def test_collections_of_an_asynchronous_client_are_embedded_alike(loop, url, notes):
    client = loop.run_until_complete(chromadb.AsyncHttpClient(**address(url), headers=HEADERS, settings=settings()))
    sheaf_client.use_client(client)
    found = loop.run_until_complete(client.get_collection(notes.name))
    loop.run_until_complete(found.add(ids=["again"], documents=TEXTS[:1]))
    got = notes.get(ids=["tide", "again"], include=["embeddings", "metadatas"])
    np.testing.assert_allclose(got["embeddings"][0], got["embeddings"][1], atol=1e-6)
    assert got["metadatas"][0]["bm25"] == got["metadatas"][1]["bm25"]
    search = Search().rank(Knn(query="bees", key="bm25"))
    assert loop.run_until_complete(found.search(search))["ids"] == [["bees"]]


class Refusing(BaseHTTPRequestHandler):
    """Refuses with each status of `statuses` once, then embeds everything as [1, 0]."""

    statuses: ClassVar[list[tuple[int, str | None]]] = []

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["texts"]
        status, retry_after = self.statuses.pop(0) if self.statuses else (200, None)
        body = {"error": "Busy", "message": "later"} if status != 200 else {"embeddings": [[1, 0]] * len(texts)}
        self.send_response(status)
        if retry_after is not None:
            self.send_header("retry-after", retry_after)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    "statuses, expected",
    [
        ([(429, "0"), (503, "0.01"), (429, "0")], None),
        ([(429, "0")] * 4, 429),
        ([(503, None)], 503),
        ([(429, "3600")], 429),
        ([(413, "0")], 413),
    ],
)
def test_what_the_server_wants_again_is_sent_again_four_times_at_most(statuses, expected):
    Refusing.statuses = list(statuses)
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        connection = sheaf_client.Connection.to(f"http://127.0.0.1:{server.server_port}")
        embed = SheafEmbeddingFunction(connection=connection)
        try:
            if expected is None:
                assert [list(vector) for vector in embed(["a"] * 3_000)] == [[1, 0]] * 3_000
            else:
                with pytest.raises(sheaf_client.SheafError, match="later") as refused:
                    embed(["a"])
                assert refused.value.status == expected
        finally:
            server.shutdown()
    assert Refusing.statuses == []
