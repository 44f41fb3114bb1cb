"""The pages about clients: their Python runs, and the tables of methods leave nothing out."""

import inspect
import re
import uuid
from pathlib import Path

import pytest
from chromadb.api.async_client import AsyncClient
from chromadb.api.client import AdminClient, Client
from chromadb.api.models.AsyncCollection import AsyncCollection
from chromadb.api.models.Collection import Collection
from conftest import KEY

DOCS = Path(__file__).parents[3] / "docs"
PYTHON = (DOCS / "guide/python.md").read_text(encoding="utf-8")
CLIENTS = (DOCS / "guide/clients.md").read_text(encoding="utf-8")
COMPATIBILITY = (DOCS / "reference/compatibility.md").read_text(encoding="utf-8")
# How the clients are made and share their connections; no method for callers of a server.
INTERNAL = {
    "clear_system_cache",
    "create",
    "from_system",
    "from_system_async",
    "get_chroma_cloud_api_key_from_clients",
}


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```$", CLIENTS, re.M | re.S))
def test_the_python_of_the_guide_runs(block, url, monkeypatch):
    monkeypatch.setenv("SHEAF_URL", url)
    monkeypatch.setenv("SHEAF_KEY", KEY)
    monkeypatch.syspath_prepend(DOCS.parent / "examples/quick-start")
    for _ in range(2):
        exec(block, {})


def test_the_blocks_of_the_page_about_python_run_one_after_the_other(url, monkeypatch):
    monkeypatch.setenv("SHEAF_URL", url)
    monkeypatch.setenv("SHEAF_KEY", KEY)
    blocks = re.findall(r"^```python\n(.*?)^```$", PYTHON, re.M | re.S)
    assert len(blocks) == 5
    for _ in range(2):
        names = {}
        for block in blocks:
            exec(block, names)


@pytest.mark.parametrize(
    "title, classes",
    [
        ("Python: HttpClient and AsyncHttpClient", [Client, AsyncClient]),
        ("Python: AdminClient", [AdminClient]),
        ("Python: Collection and AsyncCollection", [Collection, AsyncCollection]),
    ],
)
def test_every_method_is_named_and_no_other(title, classes):
    methods = {
        name
        for each in classes
        for name, _ in inspect.getmembers(each, callable)
        if not name.startswith("_") and name not in INTERNAL
    }
    section = COMPATIBILITY.split(f"\n## {title}\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)) == sorted(methods)


def test_a_model_of_a_collection_needs_no_server(client):
    made = client.create_collection(f"c-{uuid.uuid4()}", embedding_function=None)
    assert made.get_model().name == made.name
