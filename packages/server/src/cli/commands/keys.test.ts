/** `sheaf keys …` against a server that listens. */
import { describe, expect, it } from "vitest";
import { useCli } from "../../testing/cli-test.ts";
import { ROOT_KEY } from "../../testing/test-app.ts";
import { main } from "../main.ts";

const cli = useCli();
const { out, errors } = cli;

function run(...args: readonly string[]): Promise<number> {
  return main(["keys", ...args, "--url", cli.url, "--key", ROOT_KEY]);
}

async function create(...args: readonly string[]): Promise<{ id: string; key: string }> {
  expect(await run("create", "--name", "n", "--scopes", "read, write", ...args, "--json")).toBe(0);
  return JSON.parse(out.splice(0).join("\n")) as { id: string; key: string };
}

async function listed(): Promise<unknown> {
  expect(await run("list", "--json")).toBe(0);
  return JSON.parse(out.splice(0).join("\n"));
}

const status = async (key: string): Promise<number> =>
  (await cli.app.ask("GET /api/v2/tenants/default_tenant", { key })).status;

describe("sheaf keys", () => {
  it("makes a key that works, and lists it without its text", async () => {
    const { id, key } = await create("--tenant", "default_tenant", "--requests-per-minute", "100");
    expect(await status(key)).toBe(200);
    expect(await run("list")).toBe(0);
    const line = out.find((text) => text.startsWith(id));
    expect(line).toContain("default_tenant  read,write  expires never");
    expect(out.join("\n")).not.toContain(key);
  });

  it("prints a new key alone on stdout", async () => {
    expect(await run("create", "--name", "n", "--scopes", "admin", "--all-tenants")).toBe(0);
    expect(out).toEqual([expect.stringMatching(/^sheaf_[\w-]{48}$/)]);
    expect(errors.join("\n")).toContain("all tenants");
    expect(errors.join("\n")).not.toContain(out[0]);
  });

  it("rotates and revokes", async () => {
    const old = await create("--tenant", "default_tenant");
    expect(await run("rotate", old.id, "--overlap-seconds", "60", "--json")).toBe(0);
    const fresh = JSON.parse(out.splice(0).join("\n")) as { id: string; key: string };
    expect([await status(old.key), await status(fresh.key)]).toEqual([200, 200]);
    expect(await run("revoke", old.id)).toBe(0);
    expect(out).toEqual([`revoked ${old.id}`]);
    expect([await status(old.key), await status(fresh.key)]).toEqual([401, 200]);
  });

  it.each([
    [["create", "--scopes", "read", "--tenant", "x"], 2, "--name is required"],
    [["create", "--name", "n", "--tenant", "x"], 2, "--scopes is required"],
    [["create", "--name", "n", "--scopes", "read"], 2, "--tenant or --all-tenants is required"],
    [["create"], 2, "required: --name; --scopes; --tenant or --all-tenants"],
    [["create", "--name", "n", "--scopes", "read", "--tenant", "x", "--all-tenants"], 2, "give only one"],
    [["create", "--name", "n", "--scopes", "fly", "--all-tenants"], 2, "--scopes: must be"],
    [
      ["create", "--name", "n", "--scopes", "read", "--all-tenants", "--database", "ddd"],
      2,
      "--database: a key",
    ],
    [
      ["create", "--name", "n", "--scopes", "read", "--all-tenants", "--expires-at", "tomorrow"],
      2,
      "--expires-at: must be a time",
    ],
    [["create", "--name", "", "--scopes", "read", "--all-tenants"], 2, "--name: must be 1 to"],
    [["rotate", "key_1", "--expires-at", "tomorrow"], 2, "--expires-at: must be a time"],
    [["create", "--name", "n", "--scopes", "read", "--tenant", "nobody"], 1, "Tenant [nobody] not found"],
    [["revoke", "key_0000000000000000"], 1, "not found"],
    [["rotate", "key_0000000000000000", "--overlap-seconds", "long"], 2, "--overlap-seconds"],
    [["revoke"], 2, "missing required argument 'id'"],
  ])("%j ends with %i and says why", async (args, code, message) => {
    expect(await run(...args)).toBe(code);
    expect(errors.join("\n")).toContain(message);
  });

  it("says that there are no keys besides the root key", async () => {
    const keys = (await listed()) as readonly { readonly id: string }[];
    for (const { id } of keys) expect(await run("revoke", id)).toBe(0);
    out.length = 0;
    expect(await run("list")).toBe(0);
    expect(out).toEqual(["no keys besides the root key"]);
  });

  it("asks for a key where none is given", async () => {
    expect(await main(["keys", "list", "--url", cli.url])).toBe(1);
    expect(errors.join("\n")).toContain("set SHEAF_KEY or --key");
  });

  it("says so where no server answers, or the key is wrong", async () => {
    expect(await main(["keys", "list", "--url", "http://127.0.0.1:1"])).toBe(1);
    expect(await main(["keys", "list", "--url", "nowhere"])).toBe(2);
    expect(await main(["keys", "list", "--url", `${cli.url}/`, "--key", "wrong"])).toBe(1);
    expect(errors.join("\n")).toMatch(/no server answers[\s\S]*not a URL[\s\S]*not valid/);
  });
});
