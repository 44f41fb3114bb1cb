/** `sheaf tenants …` and `sheaf databases …` against a server that listens. */
import { describe, expect, it } from "vitest";
import { useCli } from "../../testing/cli-test.ts";
import { ROOT_KEY } from "../../testing/test-app.ts";
import { main } from "../main.ts";

const cli = useCli();
const { out, errors } = cli;

function run(...args: readonly string[]): Promise<number> {
  return main([...args, "--url", cli.url, "--key", ROOT_KEY]);
}

describe("sheaf tenants", () => {
  it("says that a new tenant has no database, and with which command it gets one", async () => {
    expect(await run("tenants", "create", "bare")).toBe(0);
    expect(out).toEqual(["tenant bare"]);
    const command = "sheaf databases create default_database --tenant bare";
    expect(errors).toEqual([`A new tenant has no database; create one with: ${command}`]);
    errors.length = 0;
    expect(await run("collections", "create", "notes", "--tenant", "bare")).toBe(1);
    expect(errors.join("\n")).toContain(
      `Database [default_database] not found; create it first, with: ${command} (--database names another one)`,
    );
    const [, ...words] = command.split(" ");
    expect(await run(...words)).toBe(0);
    expect(await run("collections", "create", "notes", "--tenant", "bare")).toBe(0);
  });

  it("makes no tenant where its database cannot have that name", async () => {
    expect(await run("tenants", "create", "half", "--database", "x")).toBe(2);
    expect(errors.join("\n")).toContain("--database: Expected a name");
    expect(await run("tenants", "list")).toBe(0);
    expect(out.join("\n")).not.toContain("half");
  });

  it("names the command that makes an absent tenant", async () => {
    expect(await run("databases", "create", "db1", "--tenant", "no one")).toBe(1);
    expect(await run("collections", "create", "notes", "--tenant", "nobody")).toBe(1);
    expect(errors.join("\n")).toContain(
      "Tenant [nobody] not found; create it first, with: sheaf tenants create nobody",
    );
    expect(errors.join("\n")).not.toMatch(/POST|\/api\//u);
  });

  it("tells an absent tenant from an empty one", async () => {
    for (const kind of ["databases", "collections"]) {
      expect(await run(kind, "list", "--tenant", "nope")).toBe(1);
      expect(errors.join("\n")).toContain("Tenant [nope] not found");
      errors.length = 0;
    }
    expect(await run("tenants", "create", "empty")).toBe(0);
    errors.length = 0;
    expect(await run("collections", "list", "--tenant", "empty")).toBe(1);
    expect(errors.join("\n")).toContain("Database [default_database] not found");
    expect(await run("databases", "list", "--tenant", "empty")).toBe(0);
    expect(await run("databases", "create", "default_database", "--tenant", "empty")).toBe(0);
    out.length = 0;
    expect(await run("collections", "list", "--tenant", "empty", "--json")).toBe(0);
    expect(out).toEqual(["[]"]);
  });

  it("lists what each has", async () => {
    expect(await run("tenants", "create", "full", "--database", "default_database")).toBe(0);
    expect(await run("collections", "create", "notes", "--tenant", "full")).toBe(0);
    out.length = 0;
    expect(await run("tenants", "list", "--usage")).toBe(0);
    expect(out).toContainEqual(expect.stringMatching(/^full {2}1 collection {2}0 records {2}\d+ KiB$/u));
    out.length = 0;
    expect(await run("tenants", "list", "--usage", "--json")).toBe(0);
    const [found] = out.map((text) => JSON.parse(text) as { readonly tenant: string }[]);
    expect(found?.find(({ tenant }) => tenant === "full")).toMatchObject({ collections: { used: 1 } });
    // More than are asked for at a time, by name.
    const names = Array.from({ length: 20 }, (_, i) => `many-${10 + i}`);
    for (const name of names) await run("tenants", "create", name);
    out.length = 0;
    expect(await run("tenants", "list", "--usage")).toBe(0);
    const listed = out.map((line) => line.split("  ")[0]!);
    expect(listed.filter((name) => name.startsWith("many-"))).toEqual(names);
    expect(listed).toEqual(listed.toSorted());
  });

  it("deletes one with its keys, and lists keys of one only", async () => {
    const create = (tenant: string): Promise<number> =>
      run("keys", "create", "--name", tenant, "--tenant", tenant, "--scopes", "read");
    for (const tenant of ["leaves", "stays"]) {
      expect(await run("tenants", "create", tenant, "--database", "default_database")).toBe(0);
      expect(await create(tenant)).toBe(0);
    }
    out.length = 0;
    expect(await run("keys", "list", "--tenant", "leaves")).toBe(0);
    expect(out).toEqual([expect.stringContaining("  leaves  read  ")]);
    out.length = 0;
    expect(await run("tenants", "delete", "leaves")).toBe(0);
    expect(await run("keys", "list", "--tenant", "leaves")).toBe(0);
    expect(out).toEqual(["deleted tenant leaves", "no keys of tenant leaves"]);
    out.length = 0;
    expect(await run("tenants", "list")).toBe(0);
    expect(out).toContain("stays");
    expect(out).not.toContain("leaves");
    expect(await run("tenants", "delete", "leaves")).toBe(1);
    expect(errors.join("\n")).toContain("Tenant [leaves] not found");
  });
});
