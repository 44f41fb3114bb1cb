/** A real server with an archive is killed under writes: from its backup and archive, everything acknowledged comes back. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const WRITERS = 4;
const WRITING_MS = 700;

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const archive = (): string => join(folder, "archive");
const backups = (): string => join(folder, "backups");

function serve(data: string, isArchived = true): Promise<ServedSheaf> {
  const places = isArchived ? ["--archive", archive(), "--backup-folder", backups()] : [];
  return ServedSheaf.start({ data, args: places, group: true });
}

const sheaf = (url: string, ...args: readonly string[]): Promise<EndedCommand> => sheafAt(url, args);

/** Everything that it holds, by names. */
async function stateOf(served: ServedSheaf): Promise<Readonly<Record<string, readonly string[]>>> {
  const all = await served.ask<readonly { readonly id: string; readonly name: string }[]>(COLLECTIONS);
  const state: Record<string, readonly string[]> = {};
  for (const { id, name } of all)
    state[name] = (
      await served.ask<{ readonly ids: readonly string[] }>(`${COLLECTIONS}/${id}/get`, { include: [] })
    ).ids;
  return state;
}

describe("sheaf serve --archive", () => {
  it("keeps everything that was acknowledged, whichever moment the server is killed at", async () => {
    const data = join(folder, "data");
    const served = await serve(data);
    await served.ask(COLLECTIONS, { name: "dropped" });
    expect(await sheaf(served.url, "backup", "base")).toMatchObject({ code: 0 });
    const acknowledged = new Map<string, string[]>();
    const killed = new AbortController();
    const writers = Array.from({ length: WRITERS }, async (_, w) => {
      const name = `written-${w}`;
      const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, { name });
      const ids: string[] = [];
      acknowledged.set(name, ids);
      for (let i = 0; !killed.signal.aborted; i++) {
        const body = {
          ids: [`r${i}`, `s${i}`],
          embeddings: [
            [i, 1],
            [i, 2],
          ],
        };
        const answer = await served.request(`${COLLECTIONS}/${id}/add`, { json: body }).catch(() => null);
        if (answer?.status === 201) ids.push(...body.ids);
      }
    });
    const made = await served.request(`${COLLECTIONS}/dropped`, { method: "DELETE" });
    expect(made.status).toBe(200);
    await sleep(WRITING_MS);
    process.kill(-served.pid, "SIGKILL");
    killed.abort();
    await Promise.all([...writers, once(served.process, "exit")]);

    const base = join(backups(), "base");
    const verified = await sheaf("", "backup", "verify", base, "--archive", archive(), "--json");
    const { archive: reach } = JSON.parse(verified.output) as { readonly archive: { readonly to: number } };
    const to = join(folder, "restored");
    const restored = await sheaf("", "restore", base, "--archive", archive(), "--data", to, "--json");
    expect(restored.code, restored.output).toBe(0);
    expect((JSON.parse(restored.output) as { readonly until: number }).until).toBe(reach.to);
    const again = await serve(to, false);
    const state = await stateOf(again);
    expect(Object.keys(state)).not.toContain("dropped");
    for (const [name, ids] of acknowledged) {
      expect(ids.length).toBeGreaterThan(0);
      expect(state[name]).toEqual(expect.arrayContaining(ids));
    }
    await again.dispose();

    // The server goes on with its archive, and both say the same.
    const next = await serve(data);
    await next.ask(COLLECTIONS, { name: "later" });
    const now = await stateOf(next);
    await next.dispose();
    const second = join(folder, "second");
    expect(await sheaf("", "restore", base, "--archive", archive(), "--data", second)).toMatchObject({
      code: 0,
    });
    const last = await serve(second, false);
    expect(await stateOf(last)).toEqual(now);
    await last.dispose();
    const third = join(folder, "third");
    const early = ["--archive", archive(), "--until", "1970-01-02T00:00:00Z", "--data", third];
    expect((await sheaf("", "restore", base, ...early)).output).toContain("restore an earlier one");
    expect((await sheaf("", "restore", base, "--until", "noon", "--data", third)).code).toBe(2);
  });
});
