"""What Sheaf answers and chromadb's collections do not ask, over a collection's own connection.

Each function takes a `Collection` of `HttpClient` or `CloudClient`; what it answers has the types of `replies`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from chromadb import Collection, Search
from chromadb.api.types import deserialize_metadata

from .replies import Facet, GetReply, SearchReply

Filter = Mapping[str, Any]
Order = Sequence[Mapping[str, Literal["asc", "desc"]]]


def count(
    collection: Collection,
    *,
    ids: Sequence[str] | None = None,
    where: Filter | None = None,
    where_document: Filter | None = None,
) -> int:
    """How many records match."""
    return cast("int", post_to(collection, "count", _selection(ids, where, where_document)))


def facets(
    collection: Collection,
    keys: Sequence[str],
    *,
    ids: Sequence[str] | None = None,
    where: Filter | None = None,
    where_document: Filter | None = None,
    limit: int | None = None,
    histogram: int | None = None,
) -> dict[str, Facet]:
    """How often which values occur under metadata keys: `limit` values of each (10), `histogram` buckets of its
    numbers (none)."""
    body = {**_selection(ids, where, where_document), "keys": _listed("keys", keys)}
    more = present(limit=limit, histogram=histogram)
    return cast("dict[str, Facet]", post_to(collection, "facets", {**body, **more}))


def get(
    collection: Collection,
    *,
    ids: Sequence[str] | None = None,
    where: Filter | None = None,
    where_document: Filter | None = None,
    limit: int | None = None,
    offset: int | None = None,
    include: Sequence[str] = ("metadatas", "documents"),
    order_by: Order | None = None,
    highlight: bool | Mapping[str, int] | None = None,
) -> GetReply:
    """`collection.get` with an order, `[{"year": "desc"}]`, and with the places that match the filter: `True`, or
    `{"snippet": 200}` for a part of the document of so many UTF-16 units, too."""
    body = {**_selection(ids, where, where_document), "include": _listed("include", include)}
    more = present(limit=limit, offset=offset, order_by=order_by, highlight=highlight)
    reply = post_to(collection, "get", {**body, **more})
    if reply.get("metadatas") is not None:
        reply["metadatas"] = [deserialize_metadata(metadata) for metadata in reply["metadatas"]]
    return cast("GetReply", reply)


def search(
    collection: Collection,
    searches: Search | Sequence[Search],
    *,
    mmr: Mapping[str, float] | None = None,
    highlight: bool | Mapping[str, int] | None = None,
    order_by: Order | None = None,
    explain: bool | Sequence[str] | None = None,
) -> SearchReply:
    """`collection.search` with what Chroma has not, for every search of the call.

    `mmr`: `{"lambda": 0.5, "limit": 10}`. `explain`: `True` for `traces` and `plans`, ids for `why_not` of these, too.
    Texts are embedded by the server, within the same request.
    """
    several = [searches] if isinstance(searches, Search) else list(searches)
    explained = explain if explain is None or isinstance(explain, bool) else {"ids": _listed("explain", explain)}
    more = present(mmr=mmr, highlight=highlight, order_by=order_by, explain=explained)
    payloads = [{**present(**each.to_dict()), **more} for each in several]
    reply = post_to(collection, "search", {"searches": payloads})
    reply["metadatas"] = [
        None if batch is None else [deserialize_metadata(metadata) for metadata in batch]
        for batch in reply["metadatas"]
    ]
    return cast("SearchReply", reply)


def text_of(document: str, start: int, end: int) -> str:
    """The part of a text between places that count UTF-16 units, as those of highlights do."""
    return document.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "replace")


def post_to(collection: Collection, route: str, body: Mapping[str, Any]) -> Any:
    send = getattr(collection._client, "_make_request", None)
    if not isinstance(collection, Collection) or send is None:
        raise TypeError("collection: must be one of chromadb's HttpClient or CloudClient")
    tenant, database = collection.tenant, collection.database
    path = f"/tenants/{tenant}/databases/{database}/collections/{collection.id}/{route}"
    return send("post", path, json=dict(body))


def _selection(ids: Any, where: Any, where_document: Any) -> dict[str, Any]:
    return present(ids=None if ids is None else _listed("ids", ids), where=where, where_document=where_document)


def _listed(name: str, texts: Sequence[str]) -> list[str]:
    """A text is a sequence of its letters, which nobody means."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{name}: must be a list, not one text")
    return list(texts)


def present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
