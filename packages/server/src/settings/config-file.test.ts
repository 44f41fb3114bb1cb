import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadSettings } from "../config.ts";
import { SettingError } from "./setting-error.ts";

const KEY = "sixteen-letters!";
const folder = mkdtempSync(join(tmpdir(), "sheaf-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const config = (content: unknown): string => file("config.json", JSON.stringify(content));

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SettingError);
  return (error as SettingError).message;
}

describe("the file of --config", () => {
  it("sets what flags and variables leave out, in any form that JSON has", async () => {
    const configFile = config({
      port: 9000,
      data: "/srv/sheaf",
      "allow-reset": true,
      "trusted-proxies": ["::1", "10.0.0.0/8"],
      "max-connections": "7",
      HF_HUB_OFFLINE: true,
    });
    const flags = { configFile, port: "9001" };
    expect(await loadSettings(flags, { SHEAF_MAX_CONNECTIONS: "8", HF_HUB_OFFLINE: "" })).toMatchObject({
      port: 9001,
      dataFolder: "/srv/sheaf",
      allowReset: true,
      trustedProxies: ["::1", "10.0.0.0/8"],
      maxConnections: 8,
      hfOffline: true,
    });
  });

  it("can be named by the environment", async () => {
    expect(await loadSettings({}, { SHEAF_CONFIG: config({ port: 9002 }) })).toMatchObject({ port: 9002 });
  });

  it("counts as setting the memory of indexes, which has a former name", async () => {
    const settings = await loadSettings(
      { configFile: config({ "index-memory": 1, "vector-memory": 4 }) },
      {},
    );
    expect(settings.indexMemory).toBe(2 ** 30);
  });

  it.each<[unknown, string]>([
    [{ prot: 1 }, '"prot" is no setting'],
    [{ port: "eighty" }, "port: must be a port number"],
    [{ port: null }, "port: must be text, a number, true or false"],
    [{ data: "~/sheaf" }, "data: ~/sheaf: only a shell knows"],
    [{ data: ["a", "b"] }, "data: must be text, a number, true or false"],
    [
      { "root-key": KEY },
      '"root-key" is no setting; a secret stands in a file of its own, named by "root-key-file"',
    ],
    [{ "trusted-proxies": [1] }, "trusted-proxies: must be text"],
    [{ config: "other.json" }, '"config" cannot be set in the file itself'],
    [{ SHEAF_ROOT_KEY: KEY }, '"SHEAF_ROOT_KEY" is a secret; name a file that holds it by "root-key-file"'],
    [{ HF_TOKEN: KEY }, '"HF_TOKEN" is a secret'],
    [{ "metrics-port": 8000 }, "metrics-port 8000 is the port of the server itself"],
    [[], "must be a JSON object of settings"],
  ])("is refused for %j, with its name and the place", async (content, message) => {
    const configFile = config(content);
    const found = await refusal(loadSettings({ configFile }, {}));
    expect(found).toContain(`${configFile}: `);
    expect(found).toContain(message);
    expect(found).not.toContain(KEY);
  });

  it("is refused where a flag takes the place of a wrong value, and where it names a setting twice", async () => {
    const configFile = config({ port: "eighty" });
    expect(await refusal(loadSettings({ configFile, port: "0" }, {}))).toContain(
      "port: must be a port number",
    );
    const twice = file("twice.json", '{"port": 1, "port": 2}');
    expect(await refusal(loadSettings({ configFile: twice }, {}))).toContain("port: is given twice");
  });

  it("is refused where it cannot be read, or is no JSON", async () => {
    expect(await refusal(loadSettings({ configFile: join(folder, "gone.json") }, {}))).toContain("ENOENT");
    expect(await refusal(loadSettings({ configFile: file("text.json", "port: 1") }, {}))).toContain(
      "is not valid JSON: unexpected character, expected a value at line 1",
    );
  });
});

describe("files of secrets", () => {
  it("give the root key and the token without the line break at their end", async () => {
    const flags = { rootKeyFile: file("key", `${KEY}\n`), hfTokenFile: file("token", "hf_token\r\n") };
    expect(await loadSettings(flags, {})).toMatchObject({ rootKey: KEY, hfToken: "hf_token" });
    const environment = { SHEAF_ROOT_KEY_FILE: flags.rootKeyFile };
    expect(await loadSettings({}, environment)).toMatchObject({ rootKey: KEY });
  });

  it.each<[string, string, string]>([
    ["empty", "\n", "is empty"],
    ["short", "short", "must be 16 to 512 printable ASCII characters"],
    ["two lines", `${KEY}\n${KEY}\n`, "must be 16 to 512 printable ASCII characters"],
  ])("are refused where they are %s, without their content", async (name, content, message) => {
    const found = await refusal(loadSettings({ rootKeyFile: file(name, content) }, {}));
    expect(found).toContain("--root-key-file: ");
    expect(found).toContain(message);
    expect(found).not.toContain(KEY);
  });

  it("are refused beside the secret itself", async () => {
    const found = await refusal(loadSettings({ rootKeyFile: file("key", KEY) }, { SHEAF_ROOT_KEY: KEY }));
    expect(found).toBe("SHEAF_ROOT_KEY and --root-key-file are both set; set one of them");
  });
});
