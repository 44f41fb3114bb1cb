/** A server with a collection of notes that it embeds, and the keys that the tests sign in with. */
import { type Collection, SheafClient, hybridSchema } from "@sheaf/client";
import { ROOT_KEY, ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

export const NOTES = "notes";

const TEXTS: readonly (readonly [string, string, number])[] = [
  ["Ships leave the harbour at high tide.", "sea", 1998],
  ["The harbour master counts the ships that wait outside.", "sea", 2001],
  ["Sourdough rests overnight before it is baked.", "kitchen", 2003],
  ["Bees find their way back by the sun.", "garden", 1999],
  ["A bowline holds under load and comes undone easily.", "sea", 2010],
  ["Bread rises in a warm kitchen.", "kitchen", 2012],
];

export interface FilledServer {
  readonly served: ServedSheaf;
  readonly url: string;
  readonly client: SheafClient;
  readonly notes: Collection;
  readonly readKey: string;
}

export { ROOT_KEY };

export async function startFilledServer(): Promise<FilledServer> {
  const served = await ServedSheaf.start();
  const { url } = served;
  const client = new SheafClient({ url, key: ROOT_KEY });
  const notes = await client.createCollection({ name: NOTES, schema: hybridSchema() });
  await notes.add({
    records: TEXTS.map(([document, room, year], i) => ({
      id: `note-${i + 1}`,
      document,
      metadata: { room, year },
    })),
  });
  await client.createTenant({ name: "acme" });
  const made = await client.createKey({ name: "reader", tenant: "default_tenant", scopes: ["read"] });
  return { served, url, client, notes, readKey: made.key };
}
