/** `sheaf collections …`: what an operator does to a collection of a running server. */
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { Command, CommandOption, OptionTexts } from "../command.ts";
import { SERVER_OPTIONS, askServer } from "../server-request.ts";

interface Weights {
  readonly revision: string;
  readonly digest: string;
}

interface AcceptedReply {
  readonly accepted: readonly (Weights & { readonly model: string; readonly before: Weights })[];
}

const COLLECTION_OPTIONS: readonly CommandOption[] = [
  { flags: "--tenant <tenant>", doc: `Tenant of the collection. [default ${DEFAULT_TENANT}]` },
  { flags: "--database <database>", doc: `Database of the collection. [default ${DEFAULT_DATABASE}]` },
  ...SERVER_OPTIONS,
];

export const collectionsAcceptModel: Command = {
  name: "collections accept-model",
  summary: "Allow a collection to be embedded with the server's current model weights.",
  operands: ["name"],
  options: COLLECTION_OPTIONS,
  notes:
    "The vectors that are stored stay as they are. Unless both weights give the same vectors, send every document " +
    "once more afterwards.",
  async run(options, [name = ""]) {
    const collections = collectionsPath(options);
    const path = `${collections}/${encodeURIComponent(name)}`;
    const { id } = await askServer<{ readonly id: string }>({ method: "GET", path }, options);
    const request = { method: "POST", path: `${collections}/${id}/accept-model` } as const;
    const reply = await askServer<AcceptedReply>(request, options);
    if (options["json"] === undefined) print(name, reply);
    else console.log(JSON.stringify(reply, null, 2));
    return 0;
  },
};

export const collectionsDelete: Command = {
  name: "collections delete",
  summary: "Delete a collection and all its records. Works on a damaged collection.",
  operands: ["name"],
  options: COLLECTION_OPTIONS,
  async run(options, [name = ""]) {
    const path = `${collectionsPath(options)}/${encodeURIComponent(name)}`;
    const reply = await askServer<unknown>({ method: "DELETE", path }, options);
    console.log(options["json"] === undefined ? `deleted ${name}` : JSON.stringify(reply));
    return 0;
  },
};

function collectionsPath({ tenant = DEFAULT_TENANT, database = DEFAULT_DATABASE }: OptionTexts): string {
  const [owner, place] = [encodeURIComponent(tenant), encodeURIComponent(database)];
  return `/api/v2/tenants/${owner}/databases/${place}/collections`;
}

function print(name: string, { accepted }: AcceptedReply): void {
  for (const { model, before, ...now } of accepted) {
    console.log(`${name} embeds with ${model} ${describe(now)} now, no more ${describe(before)}`);
  }
  if (accepted.length === 0) console.log(`nothing to accept: ${name} remembers no other weights`);
}

function describe({ revision, digest }: Weights): string {
  return `of revision ${revision} (${digest})`;
}
