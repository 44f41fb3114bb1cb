"""AdminClient and CloudClient."""

import chromadb
import httpx
import pytest
from chromadb.config import Settings
from chromadb.errors import NotFoundError
from conftest import HEADERS, KEY, address, fresh_name, settings


@pytest.fixture(scope="module")
def admin(url):
    host, port = address(url).values()
    return chromadb.AdminClient(
        Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=host,
            chroma_server_http_port=port,
            chroma_server_headers=HEADERS,
            anonymized_telemetry=False,
        )
    )


def cloud(url, **more):
    host, port = address(url).values()
    return chromadb.CloudClient(
        settings=settings(), cloud_host=host, cloud_port=port, enable_ssl=False, **more
    )


def test_tenants(admin):
    name = fresh_name()
    admin.create_tenant(name)
    assert admin.get_tenant(name)["name"] == name
    with pytest.raises(Exception, match="already exists"):
        admin.create_tenant(name)
    with pytest.raises(NotFoundError):
        admin.get_tenant(fresh_name())


def test_databases(admin):
    tenant = fresh_name()
    admin.create_tenant(tenant)
    for name in ["books", "atlas", "charts"]:
        admin.create_database(name, tenant)
    found = admin.get_database("books", tenant)
    assert (found["name"], found["tenant"]) == ("books", tenant)
    listed = [database["name"] for database in admin.list_databases(tenant=tenant)]
    assert listed == ["atlas", "books", "charts"]
    page = admin.list_databases(limit=1, offset=1, tenant=tenant)
    assert [database["name"] for database in page] == ["books"]
    admin.delete_database("books", tenant)
    with pytest.raises(NotFoundError):
        admin.get_database("books", tenant)
    with pytest.raises(NotFoundError):
        admin.create_database("books", fresh_name())
    with pytest.raises(Exception, match="already exists"):
        admin.create_database("atlas", tenant)


def test_cloud_client_with_a_key(url):
    client = cloud(url, tenant="default_tenant", database="default_database", api_key=KEY)
    made = client.create_collection(fresh_name(), embedding_function=None)
    made.add(ids=["a"], embeddings=[[1.0, 2.0]])
    assert made.count() == 1
    assert (made.tenant, made.database) == ("default_tenant", "default_database")


def test_cloud_client_finds_tenant_and_database_of_a_bound_key(url):
    bound = {"name": "cloud", "tenant": "default_tenant", "database": "default_database", "scopes": ["read"]}
    key = httpx.post(f"{url}/api/v2/keys", json=bound, headers=HEADERS).json()["key"]
    client = cloud(url, api_key=key)
    assert client.count_collections() >= 0
    with pytest.raises(Exception, match="scope"):
        client.create_collection(fresh_name(), embedding_function=None)


def test_cloud_client_has_to_name_tenant_and_database_of_a_key_for_all(url):
    with pytest.raises(Exception, match="tenant|database"):
        cloud(url, api_key=KEY)


def test_cloud_client_with_a_key_from_the_environment_sends_none(url, monkeypatch):
    """A fault of this client, which puts the word None into the header: it is refused like any other wrong key."""
    monkeypatch.setenv("CHROMA_API_KEY", KEY)
    with pytest.raises(Exception, match="key is not valid"):
        cloud(url, tenant="default_tenant", database="default_database")
