"""`search` with every builder, on both clients, over one dense and two sparse indexes."""

import math

import httpx
import pytest
from chromadb import (
    K,
    Knn,
    Rrf,
    Schema,
    Search,
    SparseVectorIndexConfig,
    StringInvertedIndexConfig,
    VectorIndexConfig,
)
from chromadb.api.types import ReadLevel
from chromadb.base_types import SparseVector
from chromadb.execution.expression.operator import (
    Abs,
    Div,
    Exp,
    GroupBy,
    Limit,
    Log,
    Max,
    MaxK,
    Min,
    MinK,
    Mul,
    Select,
    Sub,
    Sum,
    Val,
)
from conftest import HEADERS, fresh_name


def sparse(indices, values):
    return SparseVector(indices=indices, values=values)


@pytest.fixture(scope="module")
def collection(api, url):
    """Made by hand: this client's own Schema takes one sparse index, the interface takes several."""
    index = {"sparse_vector": {"sparse_vector_index": {"enabled": True, "config": {}}}}
    body = {"name": fresh_name(), "schema": {"defaults": {}, "keys": {"words": index, "tags": index}}}
    path = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    httpx.post(url + path, json=body, headers=HEADERS).raise_for_status()
    made = api.run(api.client.get_collection(body["name"], embedding_function=None))
    api.run(
        made.add(
            ids=["a", "b", "c", "d"],
            embeddings=[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]],
            documents=["red apple", "green pear", "red cherry", "blue plum"],
            metadatas=[
                {"color": "red", "n": 1, "words": sparse([1, 5], [1, 0.5]), "tags": sparse([7], [1])},
                {"color": "green", "n": 2, "words": sparse([5], [2]), "seen": ["x", "y"]},
                {"color": "red", "n": 3, "words": sparse([1], [0.25]), "tags": sparse([7, 9], [0.5, 0.5])},
                {"color": "blue", "n": 4},
            ],
        )
    )
    return made


@pytest.fixture
def ids(api, collection):
    return lambda search: api.run(collection.search(search))["ids"][0]


@pytest.fixture
def scores(api, collection):
    return lambda rank: api.run(collection.search(Search().rank(rank).select(K.SCORE)))["scores"][0]


def dense(query=(0.0, 0.0), **more):
    """The distances from the origin are 0, 1, 4, 9 for a, b, c, d."""
    return Knn(query=list(query), limit=10, **more)


@pytest.mark.parametrize(
    "rank, expected",
    [
        (dense([3.0, 0.0]), ["d", "c", "b", "a"]),
        (Knn(query=[3.0, 0.0], limit=2), ["d", "c"]),
        (Knn(query=sparse([5], [1]), key="words"), ["b", "a"]),
        (Knn(query=sparse([7], [1]), key=K("tags")), ["a", "c"]),
        (Knn(query=sparse([1000], [1]), key="words"), []),
        (dense() + Knn(query=sparse([1], [1]), key="words"), ["a", "c"]),
        (dense() + Knn(query=sparse([1], [1]), key="words", default=0.0), ["a", "b", "c", "d"]),
        (Val(1), []),
        ({"$knn": {"query": [3.0, 0.0], "limit": 1}}, ["d"]),
    ],
)
def test_knn(ids, rank, expected):
    assert ids(Search().rank(rank)) == expected


def test_return_rank(scores):
    assert scores(dense([3.0, 0.0], return_rank=True)) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "build, compute",
    [
        (lambda d: d + 1 + 2, lambda d: d + 3),
        (lambda d: 1 + d, lambda d: d + 1),
        (lambda d: d - 5, lambda d: d - 5),
        (lambda d: 5 - d, lambda d: 5 - d),
        (lambda d: d * -2, lambda d: d * -2),
        (lambda d: d / 4, lambda d: d / 4),
        (lambda d: 1 / (d + 1), lambda d: 1 / (d + 1)),
        (lambda d: -d, lambda d: -d),
        (lambda d: abs(d - 3), lambda d: abs(d - 3)),
        (lambda d: (d - 3).abs(), lambda d: abs(d - 3)),
        (lambda d: (d / 9).exp(), lambda d: math.exp(d / 9)),
        (lambda d: (d + 1).log(), lambda d: math.log(d + 1)),
        (lambda d: d.max(2), lambda d: max(d, 2)),
        (lambda d: d.min(2), lambda d: min(d, 2)),
        (lambda d: Sum([d, d, Val(1)]), lambda d: 2 * d + 1),
        (lambda d: Sub(Val(10), d), lambda d: 10 - d),
        (lambda d: Mul([d, Val(3)]), lambda d: d * 3),
        (lambda d: Div(d, Val(8)), lambda d: d / 8),
        (lambda d: Abs(Sub(d, Val(5))), lambda d: abs(d - 5)),
        (lambda d: Exp(Div(d, Val(-9))), lambda d: math.exp(d / -9)),
        (lambda d: Log(Sum([d, Val(2)])), lambda d: math.log(d + 2)),
        (lambda d: Max([d, Val(4)]), lambda d: max(d, 4)),
        (lambda d: Min([d, Val(4)]), lambda d: min(d, 4)),
    ],
)
def test_expressions(scores, build, compute):
    expected = sorted(compute(distance) for distance in [0, 1, 4, 9])
    assert scores(build(dense())) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "options, expected, best",
    [
        ({}, ["b", "a", "d", "c"], -(1 / 62 + 1 / 60)),
        ({"k": 1}, ["b", "d", "a", "c"], -(1 / 3 + 1)),
        ({"weights": [10, 1]}, ["d", "c", "b", "a"], -(10 / 60 + 1 / 70)),
        ({"weights": [10, 1], "normalize": True}, ["d", "c", "b", "a"], -(10 / 60 + 1 / 70) / 11),
    ],
)
def test_rrf(ids, scores, options, expected, best):
    ranks = [
        dense([3.0, 0.0], return_rank=True, default=10.0),
        Knn(query=sparse([5], [1]), key="words", return_rank=True, default=10.0),
    ]
    rank = Rrf(ranks=ranks, **options)
    assert ids(Search().rank(rank)) == expected
    assert scores(rank)[0] == pytest.approx(best, abs=1e-6)


def test_rrf_of_one(ids):
    assert ids(Search().rank(Rrf([dense([3.0, 0.0], return_rank=True)]))) == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    "where, expected",
    [
        ((K("color") == "red") & (K("n") > 1), ["c"]),
        ((K("color") != "red") | (K("n") <= 1), ["a", "b", "d"]),
        ((K("n") >= 2) & (K("n") < 4), ["b", "c"]),
        (K("color").is_in(["green", "blue"]), ["b", "d"]),
        (K("color").not_in(["green", "blue"]), ["a", "c"]),
        (K("seen").contains("y"), ["b"]),
        (K("seen").not_contains("y"), ["a", "c", "d"]),
        (K.ID.is_in(["d", "a"]), ["a", "d"]),
        (K.ID.not_in(["d", "a"]), ["b", "c"]),
        (K.DOCUMENT.contains("red"), ["a", "c"]),
        (K.DOCUMENT.not_contains("red"), ["b", "d"]),
        (K.DOCUMENT.regex("^(?:red|blue)"), ["a", "c", "d"]),
        (K.DOCUMENT.not_regex("^(?:red|blue)"), ["b"]),
        ({"color": "red"}, ["a", "c"]),
        ({"$or": [{"n": 1}, {"n": {"$gt": 3}}]}, ["a", "d"]),
    ],
)
def test_where(ids, where, expected):
    assert ids(Search().where(where).rank(dense())) == expected
    assert ids(Search().where(where)) == expected


@pytest.mark.parametrize(
    "group_by, expected",
    [
        (GroupBy(keys=[K("color")], aggregate=MinK(keys=[K.SCORE], k=1)), ["a", "b", "d"]),
        (GroupBy(keys=[K("color")], aggregate=MaxK(keys=[K("n")], k=1)), ["b", "c", "d"]),
        (GroupBy(keys=[K("color")], aggregate=MinK(keys=[K.SCORE], k=2)), ["a", "b", "c", "d"]),
        (GroupBy(keys=[K("seen")], aggregate=MaxK(keys=[K("n")], k=1)), ["b", "d"]),
        ({"keys": ["color"], "aggregate": {"$min_k": {"keys": ["#score"], "k": 1}}}, ["a", "b", "d"]),
    ],
)
def test_group_by(ids, group_by, expected):
    assert ids(Search().rank(dense()).group_by(group_by)) == expected


@pytest.mark.parametrize(
    "search, expected",
    [
        (Search(), ["a", "b", "c", "d"]),
        (Search().limit(2), ["a", "b"]),
        (Search().limit(2, offset=1), ["b", "c"]),
        (Search(limit=Limit(offset=1, limit=2)), ["b", "c"]),
        (Search(limit={"limit": 1, "offset": 3}), ["d"]),
        (Search(where={"n": {"$gt": 1}}, rank=None, group_by=None, limit=1, select=["n"]), ["b"]),
    ],
)
def test_pages(ids, search, expected):
    assert ids(search) == expected


def test_select_all(api, collection):
    result = api.run(collection.search(Search().rank(dense([3.0, 0.0])).limit(1).select_all()))
    (row,) = result.rows()[0]
    assert (row["id"], row["document"], row["score"]) == ("d", "blue plum", 0.0)
    assert list(row["embedding"]) == [3.0, 0.0]
    assert row["metadata"] == {"color": "blue", "n": 4}


def test_select_fields(api, collection):
    result = api.run(collection.search(Search(select=Select(keys={"seen", K.SCORE.name}))))
    assert result["metadatas"] == [[None, {"seen": ["x", "y"]}, None, None]]
    assert result["documents"] == [None]
    assert result["scores"] == [[0.0, 1.0, 2.0, 3.0]]


def test_sparse_vectors_come_back(api, collection):
    result = api.run(collection.search(Search().where(K("n") == 1).select("words")))
    assert result["metadatas"][0][0]["words"] == sparse([1, 5], [1.0, 0.5])


@pytest.mark.parametrize("level", list(ReadLevel))
def test_batches_and_read_levels(api, collection, level):
    searches = [Search().rank(dense([3.0, 0.0])).limit(1), Search().where({"n": 2}), Search().where({"n": 99})]
    result = api.run(collection.search(searches, read_level=level))
    assert result["ids"] == [["d"], ["b"], []]
    assert api.run(collection.count(read_level=level)) == 4


def test_a_refusal_names_the_place(api, collection):
    with pytest.raises(Exception, match=r"searches\[1\].*dimension of 2, got 3"):
        api.run(collection.search([Search(), Search().rank(dense([1.0, 2.0, 3.0]))]))


def test_a_schema_comes_back(api):
    schema = (
        Schema()
        .create_index(VectorIndexConfig(space="cosine"))
        .create_index(SparseVectorIndexConfig(bm25=True), "words")
        .delete_index(StringInvertedIndexConfig(), "title")
    )
    made = api.collection(schema=schema)
    found = api.run(api.client.get_collection(made.name, embedding_function=None)).schema
    assert found.keys["#embedding"].float_list.vector_index.config.space == "cosine"
    assert found.keys["words"].sparse_vector.sparse_vector_index.config.bm25 is True
    assert found.keys["title"].string.string_inverted_index.enabled is False
    api.run(made.add(ids=["a"], embeddings=[[1.0]], metadatas=[{"title": "x"}]))
    with pytest.raises(Exception, match="indexing is disabled"):
        api.run(made.get(where={"title": "x"}))
