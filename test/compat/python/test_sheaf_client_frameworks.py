"""LangChain and LlamaIndex with the server's embeddings, by `clients/python`."""

import asyncio

import pytest
from conftest import fresh_name
from langchain_chroma import Chroma
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

import sheaf_client
from sheaf_client.langchain import SheafEmbeddings
from sheaf_client.llama_index import SheafEmbedding

TEXTS = [
    "Ships wait in the harbour until the tide rises.",
    "Honey bees dance to tell others where flowers are.",
    "Sourdough bread rises for a whole night.",
]


@pytest.fixture(autouse=True)
def used(client):
    sheaf_client.use_client(client)


def test_langchain_with_vectors_of_the_server(client):
    store = Chroma(collection_name=fresh_name(), embedding_function=SheafEmbeddings(), client=client)
    store.add_texts(TEXTS, ids=["tide", "bees", "bread"])
    assert store.similarity_search("boats in port", k=1)[0].id == "tide"
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("insects")[0].id == "bees"
    assert SheafEmbeddings().embed_documents([]) == []


def test_langchain_on_a_collection_that_the_server_embeds(client):
    made = client.create_collection(fresh_name(), schema=sheaf_client.hybrid_schema())
    store = Chroma(collection_name=made.name, client=client)
    store.add_texts(TEXTS, ids=["tide", "bees", "bread"])
    assert store.similarity_search("boats in port", k=1)[0].id == "tide"
    assert made.get(ids=["bees"])["metadatas"][0]["bm25"].indices


def test_llama_index(client):
    made = client.create_collection(fresh_name(), embedding_function=None)
    context = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=made))
    nodes = [TextNode(id_=id_, text=text) for id_, text in zip(["tide", "bees", "bread"], TEXTS, strict=True)]
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=SheafEmbedding())
    retriever = index.as_retriever(similarity_top_k=1)
    assert retriever.retrieve("boats in port")[0].node_id == "tide"
    assert asyncio.run(retriever.aretrieve("insects"))[0].node_id == "bees"
