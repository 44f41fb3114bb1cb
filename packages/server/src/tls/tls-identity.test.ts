import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { selfSigned } from "../../../../test/compat/testing/self-signed.ts";
import { readSettings } from "../config.ts";
import { SettingError } from "../settings/setting-error.ts";
import { readTlsIdentity } from "./tls-identity.ts";

const folder = mkdtempSync(join(tmpdir(), "sheaf-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const own = selfSigned("20310102030405Z");
const cert = file("cert.pem", own.certificate);
const key = file("key.pem", own.key);
const locked = generateKeyPairSync("ec", {
  namedCurve: "P-256",
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" },
}).privateKey;

describe("readTlsIdentity", () => {
  it("gives the texts of both files, a chain too, and when the certificate ends", () => {
    const chain = own.certificate + selfSigned().certificate;
    const identity = readTlsIdentity({ cert: file("chain.pem", chain), key });
    expect(identity).toEqual({ cert: chain, key: own.key, endsAt: Date.UTC(2031, 0, 2, 3, 4, 5) });
  });

  it.each<[string, { cert?: string; key?: string }, string]>([
    ["a missing file", { cert: join(folder, "missing.pem") }, "missing.pem cannot be read: ENOENT"],
    ["a folder", { cert: folder }, "is no file"],
    ["a device that never ends", { cert: "/dev/zero" }, "/dev/zero is no file"],
    ["an empty file", { key: file("empty.pem", "") }, "--tls-key: "],
    ["a huge file", { key: file("huge.pem", "x".repeat(2 ** 20 + 1)) }, "has more than 1048576 bytes"],
    ["a key in place of the certificate", { cert: key }, "holds no certificate in PEM"],
    ["half a certificate", { cert: file("half.pem", own.certificate.slice(0, 200)) }, "holds no certificate"],
    [
      "a chain with half a certificate",
      { cert: file("odd.pem", own.certificate + own.certificate.slice(0, 200)) },
      "cannot be used",
    ],
    ["a certificate in place of the key", { key: cert }, "holds no private key in PEM"],
    ["a key with a passphrase", { key: file("locked.pem", locked) }, "without a passphrase"],
    [
      "the key of another",
      { key: file("other.pem", selfSigned().key) },
      "is not the key of the certificate in",
    ],
  ])("refuses %s, by the flag and the file", (_what, given, message) => {
    const read = (): unknown => readTlsIdentity({ cert, key, ...given });
    expect(read).toThrow(SettingError);
    expect(read).toThrow(message);
    expect(read).toThrow(given.cert === undefined ? "--tls-key: " : "--tls-cert: ");
  });

  it("needs both files", () => {
    expect(() => readSettings({ tlsCert: cert }, {})).toThrow("--tls-cert needs --tls-key beside it");
    expect(() => readSettings({}, { SHEAF_TLS_KEY: key })).toThrow(
      "SHEAF_TLS_KEY needs --tls-cert beside it",
    );
  });
});
