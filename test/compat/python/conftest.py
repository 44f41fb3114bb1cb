"""What the Python tests share: where the servers are, and clients of both kinds that a test calls alike.

`npm run compat:python` starts the servers and sets the variables read here.
"""

import asyncio
import inspect
import os
import uuid
from urllib.parse import urlparse

import chromadb
import pytest
from chromadb.config import Settings

KEY = os.environ["SHEAF_KEY"]
HEADERS = {"x-chroma-token": KEY}


def address(url):
    """Host and port as the clients take them."""
    parsed = urlparse(url)
    return {"host": parsed.hostname, "port": parsed.port}


def settings():
    return Settings(anonymized_telemetry=False)


@pytest.fixture(scope="session")
def url():
    """A server that knows tiny models under the identifiers of Qwen and Splade."""
    return os.environ["SHEAF_URL"]


@pytest.fixture(scope="session")
def bare_url():
    """A server without any weights but those that it brings."""
    return os.environ["SHEAF_BARE_URL"]


@pytest.fixture(scope="session")
def client(url):
    return chromadb.HttpClient(**address(url), headers=HEADERS, settings=settings())


@pytest.fixture(scope="session")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


class Api:
    """One client, blocking or not; `run` gives the value of what either of them returns."""

    def __init__(self, client, loop):
        self.client = client
        self._loop = loop

    def run(self, value):
        return self._loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def collection(self, **more):
        return self.run(
            self.client.create_collection(fresh_name(), **{"embedding_function": None, **more})
        )


@pytest.fixture(scope="session", params=["HttpClient", "AsyncHttpClient"])
def api(request, url, loop):
    make = getattr(chromadb, request.param)
    api = Api(None, loop)
    api.client = api.run(make(**address(url), headers=HEADERS, settings=settings()))
    return api


def fresh_name():
    return f"c-{uuid.uuid4()}"
