/** The parser behind each body that the documents describe. */
import {
  type Collection,
  parseBackupBody,
  parseCommitRequest,
  parseCountRequest,
  parseCreateCollection,
  parseCreateKey,
  parseDatabaseBody,
  parseDeleteRequest,
  parseEmbedBody,
  parseFacetsRequest,
  parseForkBody,
  parseGetRequest,
  parsePullBody,
  parseQueryRequest,
  parseReadRequest,
  parseRotateKey,
  parseSearchRequest,
  parseTenantBody,
  parseTenantUpdate,
  parseUpdateCollection,
  parseWriteRequest,
} from "@sheaf/protocol";

const NOW = Date.UTC(2026, 0, 1);
const AT = { tenant: "default_tenant", database: "default_database" };

/** Name of the schema -> what reads a body of it. */
export const BODY_PARSERS: Readonly<Record<string, (body: unknown) => unknown>> = {
  EmbedBody: parseEmbedBody,
  AddBody: (body) => parseWriteRequest("add", body),
  ChangeBody: (body) => [parseWriteRequest("upsert", body), parseWriteRequest("update", body)],
  DeleteBody: parseDeleteRequest,
  GetBody: parseGetRequest,
  CountBody: parseCountRequest,
  FacetsBody: parseFacetsRequest,
  QueryBody: parseQueryRequest,
  ReadBody: parseReadRequest,
  CommitBody: parseCommitRequest,
  SearchBody: parseSearchRequest,
  TenantBody: parseTenantBody,
  TenantUpdate: parseTenantUpdate,
  DatabaseBody: parseDatabaseBody,
  CollectionBody: (body) => parseCreateCollection(body, AT),
  CollectionUpdate: (body) => parseUpdateCollection(body, existing()),
  ForkBody: parseForkBody,
  KeyBody: (body) => parseCreateKey(body, NOW),
  RotateBody: (body) => parseRotateKey(body, NOW),
  BackupBody: parseBackupBody,
  PullBody: parsePullBody,
};

function existing(): Collection {
  const made = parseCreateCollection({ name: "docs" }, AT);
  const id = "00000000-0000-4000-8000-000000000001";
  return { ...made, id, dimension: null, logPosition: 0, version: 0, models: {} };
}
