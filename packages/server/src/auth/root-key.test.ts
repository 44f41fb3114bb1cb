import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SettingError } from "../settings/setting-error.ts";
import { makeKey } from "./make-key.ts";
import { ROOT_KEY_FILE, isRootKey, loadRootKey, replacedRootKey } from "./root-key.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sheaf-root-key-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("loadRootKey", () => {
  it("makes a key once, in a file for its owner only, and leaves nothing else", async () => {
    const first = await loadRootKey(folder);
    const path = join(folder, ROOT_KEY_FILE);
    expect(first).toEqual({ key: first.key, file: path, isNew: true });
    expect(await readFile(path, "utf8")).toBe(`${first.key}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual([ROOT_KEY_FILE]);
    expect(await loadRootKey(folder)).toEqual({ ...first, isNew: false });
  });

  it("gives every one of several that start at once the same key", async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadRootKey(folder)));
    expect(new Set(keys.map(({ key }) => key)).size).toBe(1);
    expect(keys.filter(({ isNew }) => isNew)).toHaveLength(1);
  });

  it("refuses a file that holds no key", async () => {
    await loadRootKey(folder);
    await writeFile(join(folder, ROOT_KEY_FILE), "short\n");
    await expect(loadRootKey(folder)).rejects.toThrow(SettingError);
  });
});

describe("makeKey", () => {
  it("makes root keys, never the same twice", () => {
    const keys = Array.from({ length: 100 }, makeKey);
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) expect(key).toMatch(/^sheaf_[\w-]{40}[0-9a-f]{8}$/);
    expect(keys.every(isRootKey)).toBe(true);
  });
});

describe("isRootKey", () => {
  it.each([
    ["a passphrase with spaces", true],
    [" leading space in it", false],
    ["trailing space in it ", false],
    ["fifteen letters", false],
    ["a tab\tinside of the key", false],
    ["ünicode inside of the key", false],
  ])("%j: %s", (text, expected) => {
    expect(isRootKey(text)).toBe(expected);
  });
});

describe("replacedRootKey", () => {
  it("names the file of another key, and nothing where there is none or the same", async () => {
    const own = makeKey();
    expect(await replacedRootKey(folder, own)).toBeNull();
    const { key, file } = await loadRootKey(folder);
    expect(await replacedRootKey(folder, key)).toBeNull();
    expect(await replacedRootKey(folder, own)).toBe(file);
    await writeFile(file, "no key at all");
    expect(await replacedRootKey(folder, own)).toBe(file);
  });
});
