"""Sheaf's server-side embedding and search extensions for chromadb. Importing it registers the function `sheaf`."""

from .connection import Connection, SheafError, use_client, use_server
from .embedding import SheafEmbeddingFunction, SheafSparseEmbeddingFunction, embed_sparse
from .extensions import count, facets, get, search, text_of
from .ranking import Age, FieldValue
from .replies import (
    Bucket,
    Facet,
    FacetCount,
    GetReply,
    Highlight,
    SearchPlan,
    SearchReply,
    Snippet,
    Trace,
    WhyNot,
)
from .schema import hybrid_schema, hybrid_schema_json
from .writes import add, update, upsert

__version__ = "0.1.0"

__all__ = [
    "Age",
    "Bucket",
    "Connection",
    "Facet",
    "FacetCount",
    "FieldValue",
    "GetReply",
    "Highlight",
    "SearchPlan",
    "SearchReply",
    "SheafEmbeddingFunction",
    "SheafError",
    "SheafSparseEmbeddingFunction",
    "Snippet",
    "Trace",
    "WhyNot",
    "add",
    "count",
    "embed_sparse",
    "facets",
    "get",
    "hybrid_schema",
    "hybrid_schema_json",
    "search",
    "text_of",
    "update",
    "upsert",
    "use_client",
    "use_server",
]
