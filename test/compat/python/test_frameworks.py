"""The vector stores of LangChain and LlamaIndex."""

import pytest
from conftest import HEADERS, address, fresh_name, settings
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    ExactMatchFilter,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.vector_stores.chroma import ChromaVectorStore

TEXTS = ["red apple", "green pear", "red cherry", "blue plum"]


WORDS = "red apple green pear cherry blue plum yellow melon".split()


class WordEmbeddings(Embeddings):
    """One dimension per word: texts are near when they share words."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0 if word in text.split() else 0.0 for word in WORDS]


EMBEDDINGS = WordEmbeddings()


class TestLangChain:
    @pytest.fixture
    def store(self, client):
        store = Chroma(collection_name=fresh_name(), embedding_function=EMBEDDINGS, client=client)
        metadatas = [{"n": n, "color": text.split()[0]} for n, text in enumerate(TEXTS)]
        store.add_texts(TEXTS, metadatas=metadatas, ids=["a", "b", "c", "d"])
        return store

    def test_similarity_search(self, store):
        assert [found.page_content for found in store.similarity_search("red apple", k=1)] == ["red apple"]
        filtered = store.similarity_search("red apple", k=4, filter={"color": "blue"})
        assert [found.id for found in filtered] == ["d"]
        by_text = store.similarity_search("apple", k=4, where_document={"$contains": "cherry"})
        assert [found.id for found in by_text] == ["c"]

    def test_similarity_search_with_scores_and_vectors(self, store):
        ((found, score),) = store.similarity_search_with_score("green pear", k=1)
        assert (found.id, score) == ("b", 0.0)
        ((found, relevance),) = store.similarity_search_with_relevance_scores("green pear", k=1)
        assert (found.id, relevance) == ("b", 1.0)
        ((found, vector),) = store.similarity_search_with_vectors("green pear", k=1)
        assert list(vector) == pytest.approx(EMBEDDINGS.embed_query("green pear"))
        vector = EMBEDDINGS.embed_query("blue plum")
        assert [found.id for found in store.similarity_search_by_vector(vector, k=1)] == ["d"]
        ((found, _),) = store.similarity_search_by_vector_with_relevance_scores(vector, k=1)
        assert found.id == "d"

    def test_max_marginal_relevance(self, store):
        found = store.max_marginal_relevance_search("red", k=2, fetch_k=4, lambda_mult=0.1)
        assert len({document.id for document in found}) == 2

    def test_get_update_and_delete(self, store):
        assert store.get(where={"n": {"$gte": 2}})["ids"] == ["c", "d"]
        assert [found.page_content for found in store.get_by_ids(["b"])] == ["green pear"]
        store.update_document("a", Document(page_content="yellow melon", metadata={"n": 10}))
        (changed,) = store.get_by_ids(["a"])
        assert changed.page_content == "yellow melon"
        assert changed.metadata["n"] == 10
        assert store.similarity_search("yellow melon", k=1)[0].id == "a"
        store.delete(["a", "b"])
        assert store.get()["ids"] == ["c", "d"]

    def test_hybrid_search(self, store):
        from chromadb import K, Knn, Search

        search = Search().rank(Knn(query=EMBEDDINGS.embed_query("blue plum"))).limit(1).select_all()
        assert [found.id for found in store.hybrid_search(search.where(K("n") > 1))] == ["d"]

    def test_from_documents_on_a_host_and_reset(self, url):
        host, port = address(url).values()
        store = Chroma.from_documents(
            [Document(page_content=text, id=str(n)) for n, text in enumerate(TEXTS)],
            EMBEDDINGS,
            collection_name=fresh_name(),
            host=host,
            port=port,
            headers=HEADERS,
            client_settings=settings(),
        )
        assert store.similarity_search("green pear", k=1)[0].page_content == "green pear"
        store.reset_collection()
        assert store.get()["ids"] == []
        store.delete_collection()

    def test_retriever(self, store):
        retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"color": "red"}})
        assert retriever.invoke("red cherry")[0].id == "c"

    def test_fork(self, store):
        fork = store.fork(fresh_name())
        fork.delete(["a"])
        assert fork.get()["ids"] == ["b", "c", "d"]
        assert store.get()["ids"] == ["a", "b", "c", "d"]


class TestLlamaIndex:
    @pytest.fixture
    def store(self, client):
        store = ChromaVectorStore(
            chroma_collection=client.create_collection(fresh_name(), embedding_function=None)
        )
        nodes = [
            TextNode(
                id_=id_,
                text=text,
                embedding=EMBEDDINGS.embed_query(text),
                metadata={"n": n, "color": text.split()[0]},
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{n // 2}")},
            )
            for n, (id_, text) in enumerate(zip("abcd", TEXTS))
        ]
        assert store.add(nodes) == ["a", "b", "c", "d"]
        return store

    def ids(self, store, **more):
        query = {"query_embedding": EMBEDDINGS.embed_query("red apple"), "similarity_top_k": 4, **more}
        return store.query(VectorStoreQuery(**query)).ids

    def test_query(self, store):
        assert self.ids(store)[:2] == ["a", "c"]
        result = store.query(
            VectorStoreQuery(query_embedding=EMBEDDINGS.embed_query("blue plum"), similarity_top_k=1)
        )
        assert (result.ids, result.similarities) == (["d"], [1.0])
        assert result.nodes[0].text == "blue plum"
        assert result.nodes[0].metadata["n"] == 3

    @pytest.mark.parametrize(
        "filters, expected",
        [
            ([ExactMatchFilter(key="color", value="red")], ["a", "c"]),
            ([MetadataFilter(key="n", value=2, operator=FilterOperator.GTE)], ["c", "d"]),
            ([MetadataFilter(key="n", value=2, operator=FilterOperator.LT)], ["a", "b"]),
            ([MetadataFilter(key="color", value="red", operator=FilterOperator.NE)], ["b", "d"]),
            ([MetadataFilter(key="n", value=[1, 3], operator=FilterOperator.IN)], ["b", "d"]),
            ([MetadataFilter(key="n", value=[1, 3], operator=FilterOperator.NIN)], ["a", "c"]),
        ],
    )
    def test_filters(self, store, filters, expected):
        assert sorted(self.ids(store, filters=MetadataFilters(filters=filters))) == expected

    def test_filters_joined_by_or(self, store):
        filters = [ExactMatchFilter(key="color", value="blue"), ExactMatchFilter(key="n", value=1)]
        joined = MetadataFilters(filters=filters, condition=FilterCondition.OR)
        assert sorted(self.ids(store, filters=joined)) == ["b", "d"]

    def test_max_marginal_relevance(self, store):
        found = self.ids(store, mode=VectorStoreQueryMode.MMR, similarity_top_k=2)
        assert len(set(found)) == 2

    def test_get_delete_and_clear(self, store):
        assert [node.node_id for node in store.get_nodes(["b", "d"])] == ["b", "d"]
        store.delete("doc-0")
        assert [node.node_id for node in store.get_nodes(None)] == ["c", "d"]
        store.delete_nodes(["c"])
        assert [node.node_id for node in store.get_nodes(None)] == ["d"]
        store.clear()
        assert store.get_nodes(None) == []

    def test_from_params(self, url):
        host, port = address(url).values()
        store = ChromaVectorStore.from_params(
            collection_name=fresh_name(),
            host=host,
            port=port,
            headers=HEADERS,
            collection_kwargs={"embedding_function": None},
        )
        node = TextNode(id_="x", text="green pear", embedding=EMBEDDINGS.embed_query("green pear"))
        assert store.add([node]) == ["x"]
        assert self.ids(store, query_embedding=EMBEDDINGS.embed_query("green pear")) == ["x"]
