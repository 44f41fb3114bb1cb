/**
 * Every parser of a body by name, so that a thread that is given bytes and a name can do what a handler would do with
 * them. Arguments and results cross threads as packed messages: plain objects, maps, typed arrays.
 */
import {
  invalid,
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
  parseSearchCheck,
  parseSearchRequest,
  parseTenantBody,
  parseTenantUpdate,
  parseWriteRequest,
  SheafError,
  readJson,
  readJsonWithVectors,
  unprocessable,
} from "@sheaf/protocol";

interface BodyParser<Arguments extends readonly unknown[], Parsed> {
  readonly read: typeof readJson;
  readonly parse: (body: unknown, ...args: Arguments) => Parsed;
}

const UPDATE_MEMBERS = ["new_name", "new_metadata", "new_configuration"];

export const BODY_PARSERS = {
  add: withVectors((body) => parseWriteRequest("add", body)),
  update: withVectors((body) => parseWriteRequest("update", body)),
  upsert: withVectors((body) => parseWriteRequest("upsert", body)),
  search: withVectors(parseSearchRequest),
  /** Never refuses a body: what is wrong with it is the answer. */
  checkSearch: { read: readOrError, parse: parseSearchCheck },
  query: withVectors(parseQueryRequest),
  get: plain(parseGetRequest),
  count: plain(parseCountRequest),
  facets: plain(parseFacetsRequest),
  delete: plain(parseDeleteRequest),
  conditionalGet: plain(parseReadRequest),
  conditionalCommit: plain(parseCommitRequest),
  embed: plain(parseEmbedBody),
  createTenant: plain(parseTenantBody),
  updateTenant: plain(parseTenantUpdate),
  createDatabase: plain(parseDatabaseBody),
  createCollection: plain(parseCreateCollection),
  /** What of it `parseUpdateCollection` reads, which needs the collection as well. */
  updateCollection: plain(updateMembers),
  forkCollection: plain(parseForkBody),
  createKey: plain(parseCreateKey),
  rotateKey: plain(parseRotateKey),
  makeBackup: plain(parseBackupBody),
  pullModel: plain(parsePullBody),
};

export type BodyParserName = keyof typeof BODY_PARSERS;

type ParserOf<Name extends BodyParserName> = (typeof BODY_PARSERS)[Name];
export type ParserArguments<Name extends BodyParserName> =
  ParserOf<Name> extends BodyParser<infer Arguments, unknown> ? Arguments : never;
export type ParsedBody<Name extends BodyParserName> = ReturnType<ParserOf<Name>["parse"]>;

/** What to do with the bytes of a body. */
export interface Parsing {
  readonly parser: BodyParserName;
  readonly args: readonly unknown[];
  /** Of an embedding endpoint, where a field that is given twice has another status. */
  readonly isEmbedding: boolean;
}

/** Throws `SheafError` as the parser does. */
export function parseBody(bytes: Uint8Array, { parser, args, isEmbedding }: Parsing): unknown {
  const { read, parse } = BODY_PARSERS[parser] as BodyParser<readonly unknown[], unknown>;
  return parse(read(bytes, isEmbedding ? invalid : unprocessable), ...args);
}

function plain<Arguments extends readonly unknown[], Parsed>(
  parse: (body: unknown, ...args: Arguments) => Parsed,
): BodyParser<Arguments, Parsed> {
  return { read: readJson, parse };
}

function withVectors<Arguments extends readonly unknown[], Parsed>(
  parse: (body: unknown, ...args: Arguments) => Parsed,
): BodyParser<Arguments, Parsed> {
  return { read: readJsonWithVectors, parse };
}

/** The body, or why it is none. */
function readOrError(...[bytes, refuse]: Parameters<typeof readJson>): unknown {
  try {
    return readJsonWithVectors(bytes, refuse);
  } catch (error) {
    if (error instanceof SheafError) return error;
    throw error;
  }
}

/** Whatever is no object is left for the parser to refuse. */
function updateMembers(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body) || ArrayBuffer.isView(body))
    return body;
  const members = body as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    UPDATE_MEMBERS.flatMap((name) => (Object.hasOwn(members, name) ? [[name, members[name]]] : [])),
  );
}
