/** Documents of a mebibyte and thousands of chunks: whoever writes, replaces and deletes them delays nobody else, and leaves no part behind. */
import { LIMITS } from "@sheaf/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LONGEST_TURN_MS, Stage } from "./testing/stage.ts";

const WITHIN_MIB = 1_500;
const SECTIONS = 4_000;
const MIB = 1 << 20;

let stage: Stage;
let path: string;
beforeAll(async () => {
  stage = await Stage.open();
  path = await stage.attacker.createCollection("cut", {
    configuration: { embedding_function: { type: "known", name: "default", config: {} } },
    schema: { chunking: { by: "headings" } },
  });
});
afterAll(async () => {
  await stage.close();
});

/** Short sections, and blanks that make it a mebibyte. */
function sections(count: number): string {
  const blanks = " ".repeat(Math.floor(MIB / count) - "# tide\nb\n".length);
  return `# tide\nb${blanks}\n`.repeat(count);
}

const count = (ids: readonly string[]): Promise<number> =>
  stage.attacker.expect<number>(200, `${path}/count`, { ids });

describe("a tenant with documents of a mebibyte", () => {
  it("has thousands of chunks replaced at once, beside a reader and a bystander", async () => {
    const { turns } = await stage.unharmed(WITHIN_MIB, async () => {
      await stage.attacker.expect(201, `${path}/add`, { ids: ["long"], documents: [sections(SECTIONS)] });
      expect(await count(["long"])).toBe(SECTIONS);
      const body = { ids: ["long"], documents: [sections(SECTIONS / 2)] };
      const replaced = stage.attacker.expect(200, `${path}/upsert`, body).then(() => true);
      const seen = new Set<number>();
      while (!(await Promise.race([replaced, pause()]))) seen.add(await count(["long"]));
      for (const chunks of seen) expect([SECTIONS, SECTIONS / 2]).toContain(chunks);
      expect(await count(["long"])).toBe(SECTIONS / 2);
      expect(await stage.attacker.expect(200, `${path}/count`)).toBe(SECTIONS / 2);
      await stage.attacker.expect(200, `${path}/update`, { ids: ["long"], metadatas: [{ seen: true }] });
      const deleted = await stage.attacker.expect(200, `${path}/delete`, { ids: ["long"] });
      expect(deleted).toEqual({ deleted: SECTIONS / 2 });
      expect(await stage.attacker.expect(200, `${path}/count`)).toBe(0);
    });
    if (process.env["HOSTILE_FIGURES"] !== undefined) console.log(turns);
    expect(turns.host, "processor time of a turn of the engine host in ms").toBeLessThan(LONGEST_TURN_MS);
  });

  it("is told which document has too many, and nothing of the call is stored", async () => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const ids = Array.from({ length: 8 }, (_, i) => `d${i}`);
      const documents = ids.map((_, i) => (i === 5 ? sections(LIMITS.chunksPerDocument + 1) : "short"));
      const reply = await stage.attacker.send(`${path}/upsert`, { ids, documents });
      const { message } = (await reply.json()) as { message: string };
      expect([reply.status, message]).toEqual([
        413,
        expect.stringContaining('document of record "d5" (ids[5])'),
      ]);
      expect(await stage.attacker.expect(200, `${path}/count`)).toBe(0);
    });
  });

  it.each([
    ["one word", "x".repeat(MIB)],
    ["blanks", " ".repeat(MIB)],
    ["line ends", "\n".repeat(MIB)],
  ])("has %s cut, and gone with its caller", async (_, document) => {
    await stage.unharmed(WITHIN_MIB, async () => {
      const leaving = stage.attacker.send(
        `${path}/upsert`,
        { ids: ["left"], documents: [document], chunking: { by: "sentences", size: 32, overlap: 16 } },
        { signal: AbortSignal.timeout(300) },
      );
      await leaving.catch(() => {});
      const reply = await stage.attacker.send(`${path}/upsert`, {
        ids: ["odd"],
        documents: [document],
        chunking: { by: "tokens", size: 256 },
      });
      expect([200, 413]).toContain(reply.status);
    });
  });
});

async function pause(): Promise<false> {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return false;
}
