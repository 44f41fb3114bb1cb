"""Where the server is that computes embeddings: chromadb builds embedding functions from a collection's description,
which says nothing about it, and for good reason: a description could send texts and keys elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

API_PATH = "/api/v2"
TIMEOUT_SECONDS = 600.0
ATTEMPTS = 4
LONGEST_WAIT_SECONDS = 30.0


class SheafError(RuntimeError):
    """The server refused a request, in its words, or did not answer as a server does: `status` is 0 then."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Connection:
    """A server and what it is sent with each request. `verify` is httpx's: certificates to trust, or `False`."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    verify: Any = True

    @staticmethod
    def to(url: str, key: str | None = None, *, verify: Any = True) -> Connection:
        """Raises ValueError for a key that no header can hold. Nothing of it is said: errors get into logs."""
        token = (key or "").strip()
        if not (token.isascii() and token.isprintable()):
            raise ValueError("key: has characters that a header cannot have")
        return Connection(url.rstrip("/"), {"x-service-token": token} if token else {}, verify)

    @staticmethod
    def of_client(client: Any) -> Connection:
        """That of a client of chromadb, blocking or not."""
        server = getattr(client, "_server", None)
        if server is None or not server.get_api_url():
            raise TypeError("client: must be chromadb's HttpClient, AsyncHttpClient or CloudClient")
        skipped = {"content-type", "user-agent", "content-length", "host", "accept-encoding", "connection"}
        headers = {k: v for k, v in server.get_request_headers().items() if k.lower() not in skipped}
        verify = client.get_settings().chroma_server_ssl_verify
        return Connection(server.get_api_url().removesuffix(API_PATH), headers, True if verify is None else verify)

    def embed(self, path: str, model: str, body: Mapping[str, Any]) -> Any:
        """Repeats what was refused with 429 or 503 as often as the server's `Retry-After` allows.

        Raises SheafError for a refusal, and with status 0 where no server answers, or something else does.
        """
        headers = {**self.headers, "x-service-embedding-model": model}
        try:
            response = self._post(path, body, headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise SheafError(0, f"no answer from {self.url}: {error or type(error).__name__}") from error
        if response.is_error:
            raise SheafError(response.status_code, _message(response))
        try:
            answer = response.json()
        except ValueError as error:
            raise SheafError(0, f"the answer of {self.url} is not JSON; is this a Sheaf server?") from error
        if not isinstance(answer, Mapping) or "embeddings" not in answer:
            raise SheafError(0, f"the answer of {self.url} has no embeddings; is this a Sheaf server?")
        return answer

    def _post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        with httpx.Client(timeout=TIMEOUT_SECONDS, verify=self.verify) as http:
            for attempt in range(1, ATTEMPTS + 1):
                response = http.post(self.url + path, json=body, headers=dict(headers))
                wait = _seconds(response.headers.get("retry-after"))
                if response.status_code not in (429, 503) or wait is None or attempt == ATTEMPTS:
                    break
                time.sleep(wait)
        return response


_current: Connection | None = None


def use_client(client: Any) -> None:
    """Has the embedding functions of this process ask the server of `client`, with the key that it has."""
    global _current
    _current = Connection.of_client(client)


def use_server(url: str, key: str | None = None, *, verify: Any = True) -> None:
    """Has the embedding functions of this process ask the server at `url`, such as `http://localhost:8000`."""
    global _current
    _current = Connection.to(url, key, verify=verify)


def current_connection() -> Connection:
    """What `use_client` or `use_server` said last, else `SHEAF_URL` and `SHEAF_KEY` of the environment."""
    if _current is not None:
        return _current
    url = os.environ.get("SHEAF_URL")
    if not url:
        raise ValueError(
            "no server to embed with: call sheaf_client.use_client(client), or set SHEAF_URL and SHEAF_KEY"
        )
    return Connection.to(url, os.environ.get("SHEAF_KEY"))


def batches(texts: Sequence[str], limit: int) -> list[list[str]]:
    """Raises TypeError for one text, whose letters would be taken for texts."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts: must be a list of texts, not one text")
    return [list(texts[start : start + limit]) for start in range(0, len(texts), limit)]


def _seconds(retry_after: str | None) -> float | None:
    """`None`: the server did not say, or says to come back much later."""
    try:
        seconds = float(retry_after or "nan")
    except ValueError:
        return None
    return seconds if 0 <= seconds <= LONGEST_WAIT_SECONDS else None


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
        return str(body.get("message") or body["error"])
    except (ValueError, KeyError, AttributeError):
        return f"HTTP {response.status_code}: {response.text[:500]}"
