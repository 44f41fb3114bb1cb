"""Where servers used to differ in what no other test looks at: kinds of numbers, bounds, and what is ignored."""

import httpx
import pytest
from chromadb import Schema, VectorIndexConfig
from chromadb.errors import ChromaError
from conftest import HEADERS, fresh_name

DATABASE = "/api/v2/tenants/default_tenant/databases/default_database"
SPLADE = "prithivida/Splade_PP_en_v1"


def ask(url, method, path, body=None):
    return httpx.request(method, url + path, json=body, headers=HEADERS)


def test_floats_stay_floats(client, url):
    function = {"type": "known", "name": "elsewhere", "config": {"k": 1.0, "n": 1, "all": [2.0, 2]}}
    configuration = {"hnsw": {"resize_factor": 2}, "embedding_function": function}
    body = {"name": fresh_name(), "configuration": configuration}
    made = ask(url, "POST", f"{DATABASE}/collections", body).json()
    shown = made["configuration_json"]
    assert isinstance(shown["hnsw"]["resize_factor"], float)
    config = shown["embedding_function"]["config"]
    kinds = [type(value) for value in (config["k"], config["n"], *config["all"])]
    assert kinds == [float, int, float, int]
    assert ask(url, "GET", f"{DATABASE}/collections/{body['name']}").json()["schema"] == made["schema"]
    status = ask(url, "GET", f"{DATABASE}/collections/{made['id']}/indexing_status").json()
    assert isinstance(status["op_indexing_progress"], float)


def test_read_tokens_are_integers(client, url):
    collection = client.create_collection(fresh_name(), embedding_function=None)
    path = f"{DATABASE}/collections/{collection.id}/conditional"
    token = ask(url, "POST", f"{path}/get", {"ids": ["a"]}).json()["read_token"]
    assert isinstance(token, int) and int(token) == token and 0 <= token < 2**53
    commit = {"read_token": token, "read_ids": ["a"], "operations": []}
    assert ask(url, "POST", f"{path}/commit", commit).status_code == 200
    collection.add(ids=["a"], embeddings=[[1.0]])
    assert ask(url, "POST", f"{path}/commit", commit).status_code == 409
    stale = {**commit, "read_token": token + 1}
    assert ask(url, "POST", f"{path}/commit", stale).status_code == 412


def test_count_can_be_asked_for_as_neighbours(api):
    collection = api.collection()
    count = 12_000
    ids = [f"r{n}" for n in range(count)]
    for start in range(0, count, 5_000):
        part = ids[start : start + 5_000]
        api.run(collection.add(ids=part, embeddings=[[start + n, 1.0] for n in range(len(part))]))
    n_results = api.run(collection.count())
    found = api.run(collection.query(query_embeddings=[[0.0, 1.0]], n_results=n_results, include=[]))
    assert len(set(found["ids"][0])) == count
    more = api.run(collection.query(query_embeddings=[[0.0, 1.0]], n_results=50 * count, include=[]))
    assert len(more["ids"][0]) == count


def test_takes_1024_query_embeddings(api):
    collection = api.collection()
    api.run(collection.add(ids=["a", "b"], embeddings=[[0.0, 1.0], [1.0, 0.0]]))
    queries = [[n % 2, 1 - n % 2] for n in range(1_024)]
    found = api.run(collection.query(query_embeddings=queries, n_results=1))
    assert found["ids"] == [["a"], ["b"]] * 512


def test_source_key_of_the_vector_index(client):
    schema = Schema().create_index(VectorIndexConfig(space="cosine", source_key="body"))
    made = client.create_collection(fresh_name(), schema=schema, embedding_function=None)
    shown = client.get_collection(made.name, embedding_function=None).schema
    assert shown.defaults.float_list.vector_index.config.source_key == "body"
    assert shown.keys["#embedding"].float_list.vector_index.config.source_key == "#document"
    assert shown.keys["#embedding"].float_list.vector_index.config.space == "cosine"


def test_null_drops_a_key_of_the_new_metadata(client, url):
    made = client.create_collection(fresh_name(), metadata={"a": 1}, embedding_function=None)
    body = {"new_metadata": {"a": None, "b": 2}}
    assert ask(url, "PUT", f"{DATABASE}/collections/{made.id}", body).status_code == 200
    assert client.get_collection(made.name).metadata == {"b": 2}


def test_delete_checks_its_filter_where_there_is_nothing(api):
    collection = api.collection()
    with pytest.raises(ChromaError):
        api.run(collection.delete(where_document={"$regex": "("}))


def test_update_ignores_absent_records_whatever_comes_for_them(api):
    collection = api.collection()
    api.run(collection.add(ids=["a"], embeddings=[[1.0, 2.0]], documents=["old"]))
    api.run(collection.update(ids=["b"], embeddings=[[1.0, 2.0, 3.0]], documents=["x" * 10_000]))
    found = api.run(collection.get())
    assert (found["ids"], found["documents"]) == (["a"], ["old"])


@pytest.mark.parametrize(
    ("truncate", "status"),
    [(None, 200), ("end", 200), (True, 200), ("start", 200), ("none", 400), (False, 400), ("middle", 400)],
)
def test_says_what_a_text_too_long_loses(url, truncate, status):
    headers = {**HEADERS, "x-chroma-embedding-model": SPLADE}
    body = {"texts": ["word " * 2_000], "instructions": "", "truncate": truncate}
    answer = httpx.post(f"{url}/embed_sparse", json=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers.get("x-truncated-inputs") == ("1" if status == 200 else None)


def test_the_default_database_stays(url):
    for path in ["/api/v2/tenants/default_tenant", DATABASE]:
        assert ask(url, "DELETE", path).status_code == 409


def test_the_old_embedding_route_is_deprecated_in_every_answer(url):
    answer = httpx.post(url, json={}, headers=HEADERS)
    assert (answer.status_code, answer.headers["deprecation"]) == (400, "true")
