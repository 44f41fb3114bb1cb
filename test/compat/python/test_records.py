"""Every record method of a collection but `search`, on both clients."""

import numpy as np
import pytest
from chromadb.base_types import SparseVector
from chromadb.errors import InvalidArgumentError

EVERYTHING = ["embeddings", "documents", "metadatas", "uris"]


@pytest.fixture
def collection(api):
    made = api.collection()
    api.run(
        made.add(
            ids=["a", "b", "c"],
            embeddings=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.25, 0.125]],
            documents=["alpha beach", "beta cliff", "gamma beach"],
            metadatas=[
                {"kind": "sand", "n": 1, "tags": ["x", "y"]},
                {"kind": "rock", "n": 2.5, "ok": True},
                {"kind": "sand", "n": 3},
            ],
            uris=["file:a", "file:b", "file:c"],
        )
    )
    return made


def test_get_gives_records_in_insertion_order(api, collection):
    found = api.run(collection.get(include=EVERYTHING))
    assert found["ids"] == ["a", "b", "c"]
    np.testing.assert_array_equal(found["embeddings"][2], np.float32([0.5, 0.25, 0.125]))
    assert found["documents"] == ["alpha beach", "beta cliff", "gamma beach"]
    assert found["metadatas"][0] == {"kind": "sand", "n": 1, "tags": ["x", "y"]}
    assert found["uris"] == ["file:a", "file:b", "file:c"]


@pytest.mark.parametrize(
    "request_, ids",
    [
        ({}, ["a", "b", "c"]),
        ({"ids": ["c", "a", "nobody"]}, ["a", "c"]),
        ({"ids": "b"}, ["b"]),
        ({"limit": 1, "offset": 1}, ["b"]),
        ({"where": {"kind": "sand"}}, ["a", "c"]),
        ({"where": {"n": {"$gte": 1.5}}}, ["b", "c"]),
        ({"where": {"n": {"$in": [1, 3]}}}, ["a", "c"]),
        ({"where": {"kind": {"$nin": ["sand"]}}}, ["b"]),
        ({"where": {"ok": {"$ne": True}}}, ["a", "c"]),
        ({"where": {"tags": {"$contains": "y"}}}, ["a"]),
        ({"where": {"tags": {"$not_contains": "y"}}}, ["b", "c"]),
        ({"where": {"$and": [{"kind": "sand"}, {"n": {"$gt": 1}}]}}, ["c"]),
        ({"where": {"$or": [{"ok": True}, {"n": 1}]}}, ["a", "b"]),
        ({"where_document": {"$contains": "beach"}}, ["a", "c"]),
        ({"where_document": {"$not_contains": "beach"}}, ["b"]),
        ({"where_document": {"$regex": "^(alpha|beta)"}}, ["a", "b"]),
        ({"where_document": {"$not_regex": "(?i)BEACH$"}}, ["b"]),
        ({"where": {"kind": "sand"}, "where_document": {"$contains": "gamma"}}, ["c"]),
    ],
)
def test_get(api, collection, request_, ids):
    assert api.run(collection.get(**request_))["ids"] == ids


def test_peek_and_count(api, collection):
    assert api.run(collection.peek(2))["ids"] == ["a", "b"]
    assert api.run(collection.count()) == 3


def test_query(api, collection):
    found = api.run(
        collection.query(
            query_embeddings=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            n_results=2,
            include=[*EVERYTHING, "distances"],
        )
    )
    assert found["ids"] == [["a", "c"], ["b", "c"]]
    assert found["distances"][0] == [0.0, 0.328125]
    assert found["documents"][1][0] == "beta cliff"
    np.testing.assert_array_equal(found["embeddings"][0][1], np.float32([0.5, 0.25, 0.125]))


@pytest.mark.parametrize(
    "more, ids",
    [
        ({"ids": ["b", "c"]}, [["c", "b"]]),
        ({"ids": ["nobody"]}, [[]]),
        ({"where": {"kind": "rock"}}, [["b"]]),
        ({"where_document": {"$contains": "gamma"}}, [["c"]]),
        ({"n_results": 50}, [["a", "c", "b"]]),
    ],
)
def test_query_restricted(api, collection, more, ids):
    assert api.run(collection.query(query_embeddings=[[1.0, 0.0, 0.0]], **more))["ids"] == ids


def test_add_leaves_what_exists(api, collection):
    api.run(
        collection.add(
            ids=["a", "d"], embeddings=[[9.0, 9.0, 9.0], [4.0, 4.0, 4.0]], documents=["no", "delta"]
        )
    )
    assert api.run(collection.get(ids=["a", "d"]))["documents"] == ["alpha beach", "delta"]


def test_update_changes_only_what_is_sent_and_what_exists(api, collection):
    api.run(collection.update(ids=["a", "nobody"], metadatas=[{"n": 7, "kind": None}, {"n": 8}]))
    found = api.run(collection.get(ids=["a", "nobody"]))
    assert found["ids"] == ["a"]
    assert found["metadatas"] == [{"n": 7, "tags": ["x", "y"]}]
    assert found["documents"] == ["alpha beach"]


def test_upsert_does_both(api, collection):
    api.run(
        collection.upsert(
            ids=["b", "e"], embeddings=[[0.0, 2.0, 0.0], [5.0, 5.0, 5.0]], documents=["beta two", "eps"]
        )
    )
    found = api.run(collection.get(ids=["b", "e"]))
    assert found["documents"] == ["beta two", "eps"]
    assert found["metadatas"] == [{"kind": "rock", "n": 2.5, "ok": True}, None]


@pytest.mark.parametrize(
    "request_, deleted, left",
    [
        ({"ids": ["a", "nobody"]}, 1, ["b", "c"]),
        ({"where": {"kind": "sand"}}, 2, ["b"]),
        ({"where_document": {"$contains": "cliff"}}, 1, ["a", "c"]),
        ({"where": {"kind": "sand"}, "limit": 1}, 1, ["b", "c"]),
    ],
)
def test_delete(api, collection, request_, deleted, left):
    assert api.run(collection.delete(**request_))["deleted"] == deleted
    assert api.run(collection.get())["ids"] == left


def test_metadata_of_every_kind_comes_back(api, collection):
    metadata = {
        "text": "ünïcode ☃",
        "integer": 2**53 + 1,
        "largest": 2**63 - 1,
        "float": 3.0,
        "no": False,
        "numbers": [1.5, 2.0],
        "flags": [True, False],
        "sparse": SparseVector(indices=[1, 7], values=[0.5, 123.456], labels=["one", "seven"]),
    }
    api.run(collection.upsert(ids=["m"], embeddings=[[1.0, 1.0, 1.0]], metadatas=[metadata]))
    found = api.run(collection.get(ids=["m"]))["metadatas"][0]
    assert found == metadata
    assert {key: type(value) for key, value in found.items()} == {
        key: type(value) for key, value in metadata.items()
    }


def test_another_dimension_is_refused_and_keeps_everything(api, collection):
    with pytest.raises(InvalidArgumentError, match="dimension of 3, got 2"):
        api.run(collection.add(ids=["x", "y"], embeddings=[[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(InvalidArgumentError, match="dimension of 3, got 2"):
        api.run(collection.query(query_embeddings=[[1.0, 2.0]]))
    assert api.run(collection.count()) == 3


def test_numpy_arrays_are_taken(api, collection):
    vectors = np.arange(15, dtype=np.float32).reshape(5, 3)
    api.run(collection.upsert(ids=[f"n{i}" for i in range(5)], embeddings=vectors))
    found = api.run(collection.get(ids=["n4"], include=["embeddings"]))
    np.testing.assert_array_equal(found["embeddings"], vectors[4:])


def test_the_advertised_batch_is_taken(api, collection):
    size = api.run(api.client.get_max_batch_size())
    vectors = np.zeros((size, 3), dtype=np.float32)
    api.run(collection.add(ids=[f"bulk{i}" for i in range(size)], embeddings=vectors))
    assert api.run(collection.count()) == size + 3


def test_indexing_status(api, collection):
    status = api.run(collection.get_indexing_status())
    assert status.total_ops == 3
    assert status.num_indexed_ops + status.num_unindexed_ops == 3
