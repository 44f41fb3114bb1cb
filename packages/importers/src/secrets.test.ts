import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { holdsPrivateKey, isNamedAsSecret } from "./secrets.ts";

describe("secrets", () => {
  it.each([
    ...["server.pem", "id_rsa", "id_ed25519.pub", "prod.env", "credentials", "htpasswd"],
    ...[
      "service-account.json",
      "gcp-service-account-key.json",
      "firebase-adminsdk-x.json",
      "client_secret_12.json",
    ],
    ...[
      "aws-credentials.json",
      "token.json",
      "api_keys.json",
      "vault.yml",
      "token.txt",
      "passwd.txt",
      "my.key.txt",
    ],
  ])("have names such as %s", (name) => {
    expect(isNamedAsSecret(name)).toBe(true);
  });

  it.each([
    "tokens.md",
    "secret-garden.docx",
    "keyboard.txt",
    "monkey.json",
    "passwordless.html",
    "vaulting.csv",
    "key.ts",
  ])("do not have names such as %s", (name) => {
    expect(isNamedAsSecret(name)).toBe(false);
  });

  it("are private keys within any text", () => {
    const format = { type: "pkcs8", format: "pem" } as const;
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export(format).toString();
    expect(holdsPrivateKey(Buffer.from(`# Notes\n\n${pem}\n`))).toBe(true);
    const old = pem
      .replaceAll("PRIVATE", "RSA PRIVATE")
      .replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: X\n\n");
    expect(holdsPrivateKey(Buffer.from(old))).toBe(true);
    expect(holdsPrivateKey(Buffer.from(publicKey.export({ ...format, type: "spki" })))).toBe(false);
    expect(holdsPrivateKey(Buffer.from("-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----"))).toBe(
      false,
    );
    expect(holdsPrivateKey(Buffer.from("PRIVATE KEY ".repeat(100_000)))).toBe(false);
  });
});
