/** `sheaf collections …`: what an operator does to a collection of a running server. */
import type { AcceptedModel, ModelWeights, SheafClient } from "@sheaf/client";
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { Command, CommandOption, OptionTexts } from "../command.ts";
import { databaseOptions } from "../database-options.ts";
import { SERVER_OPTIONS, withServer } from "../server-request.ts";

const COLLECTION_OPTIONS: readonly CommandOption[] = [
  ...databaseOptions("the collection"),
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
