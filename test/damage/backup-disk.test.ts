/** Backups, restores and archives on a disk that is full: each says so in a sentence, loses nothing, and works once there is room. */
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServedSheaf, temporaryFolder } from "../e2e/testing/served-sheaf.ts";
import { sheafAt } from "../e2e/testing/sheaf-command.ts";
import { runSheaf } from "./testing/run-sheaf.ts";
import { makeSmallDisk } from "./testing/small-disk.ts";

const MIB = 2 ** 20;
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const RECORDS = 100;
/** Where a restore takes long it says how far it is. */
const PROGRESS = expect.stringMatching(/^(?:(?:checking|restoring): .*\n)*$/u) as string;
const disk = makeSmallDisk({ diskBytes: 80 * MIB, reserveBytes: MIB });

let folder: string;
let served: ServedSheaf;
let collection: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  const places = ["--backup-folder", join(disk.folder, "backups"), "--archive", join(disk.folder, "archive")];
  served = await ServedSheaf.start({
    data: join(folder, "data"),
    args: [...places, "--disk-reserve", String(disk.reserveBytes)],
  });
  const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, { name: "kept" });
  collection = `${COLLECTIONS}/${id}`;
  if (!(await put(0)).ok) throw new Error(served.output);
});
afterAll(async () => {
  await served.dispose();
  disk.dispose();
  await rm(folder, { recursive: true, force: true });
});

const put = (from: number): Promise<Response> => {
  const ids = Array.from({ length: RECORDS }, (_, i) => `r${from + i}`);
  const documents = ids.map((one) => one.repeat(2_000));
  return served.request(`${collection}/upsert`, {
    json: { ids, documents, embeddings: ids.map((_, i) => [i, from]) },
  });
};
const backUp = (name: string): ReturnType<typeof sheafAt> => sheafAt(served.url, ["backup", name]);

describe(`on ${disk.kind}`, () => {
  it("a backup that does not fit leaves nothing behind", async () => {
    disk.fill();
    const { code, output } = await backUp("first");
    expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(/full|free/u) });
    const left = join(disk.folder, "backups", "first");
    expect(output).not.toContain("the data folder");
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([]);
    disk.free();
    expect(await backUp("first")).toMatchObject({ code: 0 });
  });

  it("a restore that does not fit says so, and is run again", async () => {
    const [backup, to] = [join(disk.folder, "backups", "first"), join(disk.folder, "restored")];
    const restore = (): ReturnType<typeof runSheaf> => runSheaf("restore", backup, "--data", to);
    const words = `the disk of ${to} is full; make room and run the same restore again`;
    disk.fill();
    expect(await restore()).toMatchObject({ code: 1, errors: expect.stringContaining(words) });
    // There is room to begin, and not for all of it.
    disk.freeHalfOfReserve();
    const { code, errors } = await restore();
    expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining(words) });
    expect([errors.trim().split("\n").length, existsSync(join(to, "collections"))]).toEqual([1, false]);
    disk.free();
    expect(await restore()).toMatchObject({ code: 0, errors: PROGRESS });
    expect((await runSheaf("doctor", "--data", to)).code).toBe(0);
    await rm(to, { recursive: true });
  });

  it("an archive that does not fit refuses writes, takes deletes, and has all that was taken", async () => {
    const status = async (): Promise<number> => (await put(RECORDS)).status;
    const remove = async (id: string): Promise<number> =>
      (await served.request(`${collection}/delete`, { json: { ids: [id] } })).status;
    const measured = async (name: string): Promise<number> => {
      const text = await (await served.request("/metrics")).text();
      return Number(new RegExp(`^sheaf_archive_${name} (\\S+)$`, "mu").exec(text)?.[1]);
    };
    expect(await measured("failing")).toBe(0);
    disk.fill();
    disk.freeHalfOfReserve();
    const refused = await put(RECORDS);
    expect({ status: refused.status, text: await refused.text() }).toEqual({
      status: 507,
      text: expect.stringMatching(/the disk of the archive is full: .* are free/u),
    });
    expect([await measured("failing"), await measured("lag_seconds")]).toEqual([1, 0]);
    expect(served.output).toContain(`make room in ${join(disk.folder, "archive")}`);
    expect(await remove("r0")).toBe(200);
    // Others have filled the reserve up, too: entries that were taken wait for room, and the metrics say for how long.
    disk.fill();
    let removed = 1;
    while ((await remove(`r${removed}`)) === 200) removed += 1;
    const lag = await measured("lag_seconds");
    expect(lag).toBeGreaterThan(0);
    await expect.poll(() => measured("lag_seconds")).toBeGreaterThan(lag + 1);
    expect(await served.ask<number>(`${collection}/count`)).toBeGreaterThan(0);
    disk.free();
    await expect.poll(status, { interval: 200 }).toBe(200);
    expect([await measured("failing"), await measured("lag_seconds")]).toEqual([0, 0]);
    const [backup, to] = [join(disk.folder, "backups", "first"), join(folder, "restored")];
    const restored = await runSheaf(
      ...["restore", backup, "--archive", join(disk.folder, "archive"), "--data", to],
    );
    expect(restored).toMatchObject({ code: 0, errors: PROGRESS });
    const again = await ServedSheaf.start({ data: to });
    const all = { include: ["documents"] };
    const found = await again.ask(`${collection}/get`, all);
    expect(found).toEqual(await served.ask(`${collection}/get`, all));
    await again.dispose();
  });
});
