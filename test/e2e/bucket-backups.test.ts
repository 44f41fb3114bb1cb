/** Backups in a bucket: of a server, of a stopped one, and what the commands make of them. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ObjectServer } from "../../packages/engine/src/storage/objects/testing/object-server.ts";
import { ServedSheaf, temporaryFolder } from "./testing/served-sheaf.ts";
import { type EndedCommand, sheafAt } from "./testing/sheaf-command.ts";

const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
const EVERYTHING = { include: ["documents", "embeddings"] };

let objects: ObjectServer;
let folder: string;
/** For temporary files. */
let spool: string;
let bucket: string;
let env: Readonly<Record<string, string>>;
let served: ServedSheaf;
let collection: string;
beforeAll(async () => {
  [objects, folder] = [await ObjectServer.start(), await temporaryFolder()];
  mkdirSync((spool = join(folder, "tmp")));
  const { endpoint, bucket: name, prefix, accessKeyId, secretAccessKey } = objects.settings();
  bucket = `s3://${name}/${prefix}`.slice(0, -1);
  env = {
    TMPDIR: spool,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
  served = await ServedSheaf.start({ data: join(folder, "data"), args: ["--backup-folder", bucket], env });
  const { id } = await served.ask<{ readonly id: string }>(COLLECTIONS, { name: "kept" });
  collection = `${COLLECTIONS}/${id}`;
});
afterAll(async () => {
  await served?.dispose();
  await objects?.close();
  await rm(folder, { recursive: true, force: true });
});

const add = (id: string): Promise<unknown> =>
  served.ask(`${collection}/add`, { ids: [id], embeddings: [[1, 2]], documents: [`text of ${id}`] });
const sheaf = (...args: readonly string[]): Promise<EndedCommand> => sheafAt(served.url, args, { env });

describe("backups in a bucket", () => {
  it("are made by a server, listed, checked, restored and removed", async () => {
    await add("a");
    expect(await sheaf("backup", "full")).toMatchObject({ code: 0 });
    expect(await sheaf("backup", "full")).toMatchObject({
      code: 1,
      output: expect.stringContaining("exists"),
    });
    await add("b");
    expect(await sheaf("backup", "next", "--incremental", "full")).toMatchObject({ code: 0 });
    for (const where of [[], [bucket]])
      expect((await sheaf("backup", "list", ...where)).output).toMatch(
        /^next {2}complete .* adds to full .*\nfull {2}complete .* whole /u,
      );
    const verified = await sheaf("backup", "verify", `${bucket}/next`);
    expect(verified).toMatchObject({ code: 0, output: expect.stringContaining("can be restored") });
    const data = join(folder, "restored");
    objects.fault = (call) => (/^GET .*\/next\/packs/u.test(call) ? "flip" : null);
    for (const command of [
      ["backup", "verify"],
      ["restore", "--data", data],
    ])
      expect(await sheaf(...command, `${bucket}/next`)).toMatchObject({
        ...{ code: 1, output: expect.stringContaining(`: ${bucket}/next/packs/`) },
      });
    objects.fault = () => null;
    expect(await sheaf("restore", `${bucket}/next`, "--data", data)).toMatchObject({ code: 0 });
    const again = await ServedSheaf.start({ data });
    expect(await again.ask(`${collection}/get`, EVERYTHING)).toEqual(
      await served.ask(`${collection}/get`, EVERYTHING),
    );
    await again.dispose();
    const to = join(folder, "acme");
    expect(await sheaf("export", `${bucket}/full`, "--tenant", "default_tenant", "--to", to)).toMatchObject({
      code: 0,
    });
    expect(existsSync(join(to, "manifest.jsonl"))).toBe(true);
    expect(await sheaf("backup", "remove", `${bucket}/full`)).toMatchObject({
      ...{ code: 1, output: expect.stringContaining("full is needed by next") },
    });
    for (const name of ["next", "full"])
      expect(await sheaf("backup", "remove", `${bucket}/${name}`)).toMatchObject({ code: 0 });
    expect((await sheaf("backup", "list")).output).toBe("no backups\n");
    expect(readdirSync(spool).filter((name) => name.startsWith("sheaf-backup-"))).toEqual([]);
  });

  it("are refused by name where the bucket, its keys or the place are none", async () => {
    const without = { ...env, AWS_SECRET_ACCESS_KEY: "" };
    const list = (url: string, variables = env): Promise<EndedCommand> =>
      sheafAt(served.url, ["backup", "list", url], { env: variables });
    expect(await list("s3://Bad_Bucket")).toMatchObject({
      ...{ code: 2, output: expect.stringContaining("s3://bucket/prefix") },
    });
    expect(await list(bucket, without)).toMatchObject({
      ...{ code: 2, output: expect.stringContaining("AWS_SECRET_ACCESS_KEY") },
    });
    expect(await sheaf("backup", `${bucket}/one`)).toMatchObject({
      ...{ code: 2, output: expect.stringContaining("--backup-folder") },
    });
    expect(await sheaf("backup", "verify", `${bucket}/absent`)).toMatchObject({
      ...{ code: 2, output: expect.stringContaining(`${bucket}/absent is no complete backup`) },
    });
  });

  it("are made of a stopped server, too", async () => {
    await served.stop();
    const of = (...args: readonly string[]): Promise<EndedCommand> =>
      sheaf("backup", ...args, "--data", join(folder, "data"));
    expect(await of(`${bucket}/stopped`)).toMatchObject({ code: 0 });
    expect(await of(`${bucket}/after`, "--incremental", `${bucket}/stopped`)).toMatchObject({ code: 0 });
    expect(await of(`${bucket}/other`, "--incremental", "stopped")).toMatchObject({
      ...{ code: 2, output: expect.stringContaining("must lie beside") },
    });
    expect((await sheaf("backup", "verify", `${bucket}/after`)).output).toContain(
      "with the 1 that it adds to",
    );
  });
});
