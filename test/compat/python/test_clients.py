"""HttpClient and AsyncHttpClient, every method; the ways to reach a server; how refusals arrive."""

import chromadb
import pytest
from chromadb.config import Settings
from chromadb.errors import InvalidArgumentError, NotFoundError
from conftest import HEADERS, KEY, address, fresh_name, settings


def test_heartbeat_version_identity_and_limits(api):
    assert api.run(api.client.heartbeat()) > 1e18
    assert api.run(api.client.get_version()) == "1.0.0"
    assert api.run(api.client.get_max_batch_size()) == 5461
    identity = api.run(api.client.get_user_identity())
    assert (identity.tenant, identity.databases) == ("*", ["*"])
    assert api.client.get_settings() is not None


def test_collections_are_made_found_listed_counted_and_removed(api):
    before = api.run(api.client.count_collections())
    metadata = {"purpose": "test", "n": 1, "x": 0.5, "ok": True}
    made = api.collection(metadata=metadata)
    assert made.metadata == metadata
    assert (made.tenant, made.database) == ("default_tenant", "default_database")
    assert api.run(api.client.get_collection(made.name, embedding_function=None)).id == made.id
    assert api.run(api.client.get_collection_by_id(made.id, embedding_function=None)).name == made.name
    same = api.client.get_or_create_collection(made.name, embedding_function=None)
    assert api.run(same).id == made.id
    assert api.run(api.client.count_collections()) == before + 1
    listed = api.run(api.client.list_collections(limit=1000))
    assert made.name in [collection.name for collection in listed]
    page = api.run(api.client.list_collections(limit=1, offset=before))
    assert [collection.name for collection in page] == [made.name]
    api.run(api.client.delete_collection(made.name))
    with pytest.raises(NotFoundError):
        api.run(api.client.get_collection(made.name, embedding_function=None))


def test_a_collection_is_modified(api):
    made = api.collection(metadata={"a": 1}, configuration={"hnsw": {"space": "cosine"}})
    name = fresh_name()
    api.run(made.modify(name=name))
    api.run(made.modify(metadata={"b": 2}))
    api.run(made.modify(configuration={"hnsw": {"ef_search": 42}}))
    found = api.run(api.client.get_collection(name, embedding_function=None))
    assert found.id == made.id
    assert found.metadata == {"b": 2}
    assert found.configuration["hnsw"]["space"] == "cosine"
    assert found.configuration["hnsw"]["ef_search"] == 42


def test_tenant_and_database_are_changed(api):
    admin = chromadb.AdminClient(
        Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=api.client.get_settings().chroma_server_host,
            chroma_server_http_port=api.client.get_settings().chroma_server_http_port,
            chroma_server_headers=HEADERS,
            anonymized_telemetry=False,
        )
    )
    tenant = fresh_name()
    admin.create_tenant(tenant)
    admin.create_database("default_database", tenant)
    admin.create_database("second", tenant)
    try:
        api.run(api.client.set_tenant(tenant))
        assert api.run(api.client.list_collections()) == []
        made = api.collection()
        assert made.tenant == tenant
        api.run(api.client.set_database("second"))
        assert api.run(api.client.count_collections()) == 0
        with pytest.raises(Exception, match="absent"):
            api.run(api.client.set_database("absent"))
    finally:
        api.run(api.client.set_tenant("default_tenant"))


def test_reset_is_refused_unless_the_operator_allows_it(api):
    with pytest.raises(Exception, match="Reset is disabled by config"):
        api.run(api.client.reset())


def test_a_client_is_closed(url):
    with chromadb.HttpClient(**address(url), headers=HEADERS, settings=settings()) as client:
        assert client.heartbeat() > 0


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"x-service-token": KEY}},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {
            "settings": Settings(
                chroma_client_auth_provider="chromadb.auth.token_authn.TokenAuthClientProvider",
                chroma_client_auth_credentials=KEY,
                anonymized_telemetry=False,
            )
        },
        {
            "settings": Settings(
                chroma_client_auth_provider="chromadb.auth.token_authn.TokenAuthClientProvider",
                chroma_client_auth_credentials=KEY,
                chroma_auth_token_transport_header="X-Chroma-Token",
                anonymized_telemetry=False,
            )
        },
    ],
    ids=["x-service-token", "Authorization", "token provider", "token provider with X-Chroma-Token"],
)
def test_the_key_in_every_place(url, more):
    client = chromadb.HttpClient(**address(url), **{"settings": settings(), **more})
    assert client.count_collections() >= 0


def test_a_whole_url_as_host(url):
    client = chromadb.HttpClient(host=url, port=address(url)["port"], headers=HEADERS, settings=settings())
    assert client.heartbeat() > 0


def test_no_key_and_a_wrong_key(url):
    for headers in [None, {"x-chroma-token": "wrong"}]:
        with pytest.raises(Exception, match="key"):
            chromadb.HttpClient(**address(url), headers=headers, settings=settings())


def test_refusals_arrive_as_exceptions_with_message_and_trace(api):
    made = api.collection()
    with pytest.raises(InvalidArgumentError, match="two consecutive periods"):
        api.run(api.client.create_collection("a..b", embedding_function=None))
    with pytest.raises(NotFoundError) as missing:
        api.run(api.client.get_collection("absent", embedding_function=None))
    assert missing.value.trace_id
    # The client has no class for a 409 of this interface and raises the body itself.
    with pytest.raises(Exception, match="already exists"):
        api.run(api.client.create_collection(made.name, embedding_function=None))


def test_a_collection_is_forked(api):
    made = api.collection()
    api.run(made.add(ids=["a"], embeddings=[[1.0, 2.0]], documents=["alpha"]))
    assert api.run(made.fork_count()) == 0
    fork = api.run(made.fork(fresh_name()))
    api.run(fork.update(ids=["a"], documents=["changed"], embeddings=[[3.0, 4.0]]))
    assert api.run(made.get())["documents"] == ["alpha"]
    assert api.run(fork.get())["documents"] == ["changed"]
    assert api.run(made.fork_count()) == 1


def test_attached_functions_are_refused(client):
    made = client.create_collection(fresh_name(), embedding_function=None)
    refused = "attached functions are not supported"
    with pytest.raises(Exception, match=refused):
        made.attach_function("statistics", "stats", fresh_name())
    with pytest.raises(Exception, match=refused):
        made.get_attached_function("stats")
    with pytest.raises(Exception, match=refused):
        made.detach_function("stats")
