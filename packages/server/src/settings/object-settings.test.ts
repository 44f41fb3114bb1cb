import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readSettings } from "../config.ts";
import { objectsOf } from "./object-settings.ts";
import { SettingError } from "./setting-error.ts";

const KEYS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };

function objectsFrom(objects: string, environment: Record<string, string> = KEYS) {
  const flags = { objects, database: "postgres://u@127.0.0.1/d" };
  return objectsOf(readSettings(flags, { SHEAF_ROOT_KEY: "sixteen-letters!", ...environment })).objects;
}

describe("--objects", () => {
  it("is none by default, whatever is set for other programs", () => {
    expect(objectsOf(readSettings({}, { ...KEYS, AWS_ENDPOINT_URL: "https://host/path" }))).toEqual({});
  });

  it("is a bucket with a prefix, with the rest from the variables of AWS's programs", () => {
    expect(objectsFrom("s3://bucket/a/b")).toEqual({
      ...{
        bucket: "bucket",
        prefix: "a/b/",
        region: "us-east-1",
        accessKeyId: "id",
        secretAccessKey: "secret",
      },
      endpoint: "https://s3.us-east-1.amazonaws.com",
      publication: { keepMs: 7 * 24 * 3_600_000 },
    });
    const environment = {
      ...{ ...KEYS, AWS_REGION: "eu-west-1", AWS_SESSION_TOKEN: "token" },
      ...{ AWS_ENDPOINT_URL: "http://other:1", AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000/" },
    };
    expect(objectsFrom("s3://bucket", environment)).toMatchObject({
      ...{ prefix: "", region: "eu-west-1", sessionToken: "token", endpoint: "http://127.0.0.1:9000" },
    });
  });

  it("takes the secret key from a file, and not from two places", () => {
    const folder = mkdtempSync(join(tmpdir(), "sheaf-test-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "file");
    writeFileSync(file, "kept\n");
    const environment = { AWS_ACCESS_KEY_ID: "id", SHEAF_OBJECTS_SECRET_KEY_FILE: file };
    expect(objectsFrom("s3://bucket", environment)).toMatchObject({ secretAccessKey: "kept" });
    expect(() => objectsFrom("s3://bucket", { ...environment, ...KEYS })).toThrow("are both set");
  });

  it("is asked without https on another machine only where that is named", () => {
    const plain = { ...KEYS, AWS_ENDPOINT_URL_S3: "http://store.internal:9000" };
    expect(() => objectsFrom("s3://bucket", plain)).toThrow("must be asked over https");
    const other = { ...plain, SHEAF_OBJECTS_PLAINTEXT_HOST: "another.internal" };
    expect(() => objectsFrom("s3://bucket", other)).toThrow("must be asked over https");
    const named = { ...plain, SHEAF_OBJECTS_PLAINTEXT_HOST: "store.internal" };
    expect(objectsFrom("s3://bucket", named)).toMatchObject({ allowPlaintext: true });
  });

  it.each([
    ["https://bucket", KEYS, "must be a URL such as s3://"],
    ["s3://", KEYS, "must be a URL such as s3://"],
    ["s3://bucket//x", KEYS, "must be a URL such as s3://"],
    ["s3://bucket/../x", KEYS, "must be a URL such as s3://"],
    ["s3://bucket", { AWS_ACCESS_KEY_ID: "id" }, "needs AWS_ACCESS_KEY_ID"],
    ["s3://bucket", { ...KEYS, AWS_ENDPOINT_URL: "https://host/path" }, "host and port"],
    ["s3://bucket", { ...KEYS, AWS_ENDPOINT_URL: "https://u:hidden@host" }, "host and port"],
  ])("refuses %s with %j", (url, environment, reason) => {
    const read = (): unknown => objectsFrom(url, environment);
    expect(read).toThrow(SettingError);
    expect(read).toThrow(reason);
    expect(read).not.toThrow("hidden");
  });

  it("is refused without a database", () => {
    const read = (): unknown => objectsOf(readSettings({ objects: "s3://bucket" }, KEYS));
    expect(read).toThrow("beside --database only");
  });
});
