/** `sheaf collections …`: what an operator does to a collection of a running server. */
import {
  type AcceptedModel,
  type Chunking,
  ConflictError,
  type ModelWeights,
  type Schema,
  type SheafClient,
  hybridSchema,
} from "@sheaf/client";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command, CommandOption, OptionTexts } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { SERVER_OPTIONS, ServerRefusal, withServer } from "../server-request.ts";

const COLLECTION_OPTIONS: readonly CommandOption[] = [
  ...databaseOptions("the collection"),
  ...SERVER_OPTIONS,
];

export const collectionsList: Command = {
  name: "collections list",
  summary: "List the collections of a database, in order of creation.",
  options: COLLECTION_OPTIONS,
  notes: "Prints their names; with --json also their schemas, dimensions and metadata.",
  async run(options) {
    await inDatabase(options, async (client) => {
      const found: unknown[] = [];
      let isEmpty = true;
      for await (const { info } of client.collections()) {
        isEmpty = false;
        if (options["json"] === undefined) console.log(info.name);
        else found.push(info);
      }
      if (isEmpty) await requireDatabase(client, options);
      if (options["json"] !== undefined) console.log(JSON.stringify(found, null, 2));
    });
    return 0;
  },
};

export const collectionsCreate: Command = {
  name: "collections create",
  summary: "Create a collection for which the server computes dense and BM25 vectors of documents.",
  operands: ["name"],
  options: [
    { flags: "--model <identifier>", doc: "Dense model. [default the bundled one]" },
    { flags: "--chunking <by>", doc: "Cut documents into chunks: headings, sentences or tokens." },
    { flags: "--tokens <number>", doc: "With --chunking: tokens of a chunk at most. [default 256]" },
    { flags: "--overlap <number>", doc: "With --chunking: tokens that chunks share at most. [default 0]" },
    { flags: "--vectors", doc: "For records that bring their vectors; the server computes none." },
    { flags: "--if-absent", doc: "Do nothing where it exists already." },
    ...COLLECTION_OPTIONS,
  ],
  async run(options, [name = ""]) {
    const schema = schemaOf(options);
    try {
      const { info } = await inDatabase(options, (client) => client.createCollection({ name, schema }));
      console.log(options["json"] === undefined ? `collection ${name}` : JSON.stringify(info, null, 2));
    } catch (error) {
      const isThere = error instanceof ServerRefusal && error.cause instanceof ConflictError;
      if (!isThere || options["ifAbsent"] === undefined) throw error;
      console.log(options["json"] === undefined ? `collection ${name}` : "{}");
    }
    return 0;
  },
};

/** `undefined`: the server computes nothing. */
function schemaOf({ model, chunking, tokens, overlap, vectors }: OptionTexts): Schema | undefined {
  const cutting = Object.entries({ chunking, tokens, overlap }).find(([, text]) => text !== undefined);
  if (vectors !== undefined) {
    if (model !== undefined || cutting !== undefined)
      throw new SettingError("--vectors is for collections without a model and without --chunking");
    return undefined;
  }
  if (chunking === undefined && cutting !== undefined)
    throw new SettingError(`--${cutting[0]} needs --chunking`);
  const cut = chunking === undefined ? undefined : readChunking(chunking, tokens, overlap);
  return hybridSchema({
    ...(model === undefined ? {} : { model }),
    ...(cut === undefined ? {} : { chunking: cut }),
  });
}

/** The server knows the words and the bounds. */
function readChunking(by: string, tokens: string | undefined, overlap: string | undefined): Chunking {
  const size = tokens === undefined ? {} : { size: readCount("--tokens", tokens) };
  const shared = overlap === undefined ? {} : { overlap: readCount("--overlap", overlap) };
  return { by, ...size, ...shared } as Chunking;
}

/** What is no number would be `null` in JSON, which means the default. */
function readCount(flag: string, text: string): number {
  if (!/^\d{1,9}$/u.test(text)) throw new SettingError(`${flag}: must be a number of tokens`);
  return Number(text);
}

export const collectionsAcceptModel: Command = {
  name: "collections accept-model",
  summary: "Allow a collection to be embedded with the server's current model weights.",
  operands: ["name"],
  options: COLLECTION_OPTIONS,
  notes:
    "The vectors that are stored stay as they are. Unless both weights give the same vectors, send every document " +
    "once more afterwards.",
  async run(options, [name = ""]) {
    const accepted = await inDatabase(options, async (client) => {
      const collection = await client.getCollection({ name });
      return collection.acceptModel();
    });
    if (options["json"] === undefined) print(name, accepted);
    else console.log(JSON.stringify({ accepted }, null, 2));
    return 0;
  },
};

export const collectionsDelete: Command = {
  name: "collections delete",
  summary: "Delete a collection and all its records. Works on a damaged collection.",
  operands: ["name"],
  options: COLLECTION_OPTIONS,
  async run(options, [name = ""]) {
    await inDatabase(options, (client) => client.deleteCollection({ name }));
    console.log(options["json"] === undefined ? `deleted ${name}` : "{}");
    return 0;
  },
};

/** One without collections may be misspelt, or its tenant: then the server says that it is not there. */
async function requireDatabase(
  client: SheafClient,
  { database = DEFAULT_DATABASE }: OptionTexts,
): Promise<void> {
  await client.getDatabase({ name: database });
}

function inDatabase<T>(options: OptionTexts, ask: (client: SheafClient) => Promise<T>): Promise<T> {
  const { tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE } = options;
  return withServer(options, (client) => ask(client.scoped({ tenant, database })));
}

function print(name: string, accepted: readonly AcceptedModel[]): void {
  for (const { model, before, ...now } of accepted) {
    console.log(`${name} embeds with ${model} ${describe(now)} now, no more ${describe(before)}`);
  }
  if (accepted.length === 0) console.log(`nothing to accept: ${name} remembers no other weights`);
}

function describe({ revision, digest }: ModelWeights): string {
  return `of revision ${revision} (${digest})`;
}
