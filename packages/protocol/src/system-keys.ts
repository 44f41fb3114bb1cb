/** Names under which schemas, filters and searches address what every record has beside its metadata. */

export const DOCUMENT_KEY = "#document";
export const EMBEDDING_KEY = "#embedding";
