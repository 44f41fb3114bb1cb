/** The certificate and the key that a server shows, as PEM. Read at the start, and again on SIGHUP. */
import { type KeyObject, X509Certificate, createPrivateKey } from "node:crypto";
import { createSecureContext } from "node:tls";
import { readSmallFile } from "../settings/secret-file.ts";
import { SettingError } from "../settings/setting-error.ts";

export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  /** When the certificate ends, in milliseconds since 1970. */
  readonly endsAt: number;
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Throws a `SettingError` that names the flag, the file and what is wrong: nothing that it gives fails later. */
export function readTlsIdentity(files: TlsFiles): TlsIdentity {
  const cert = named("--tls-cert", () => readSmallFile(files.cert));
  const key = named("--tls-key", () => readSmallFile(files.key));
  const certificate = tried(
    `--tls-cert: ${files.cert} holds no certificate in PEM`,
    () => new X509Certificate(cert),
  );
  const privateKey = tried(
    `--tls-key: ${files.key} holds no private key in PEM that can be read without a passphrase`,
    () => createPrivateKey(key),
  );
  requirePair(certificate, privateKey, files);
  // The rest of the chain, and keys that OpenSSL finds too short.
  tried(`--tls-cert: ${files.cert} cannot be used`, () => createSecureContext({ cert, key }));
  return { cert, key, endsAt: Date.parse(certificate.validTo) };
}

function requirePair(certificate: X509Certificate, key: KeyObject, files: TlsFiles): void {
  if (!certificate.checkPrivateKey(key))
    throw new SettingError(`--tls-key: ${files.key} is not the key of the certificate in ${files.cert}`);
}

function named<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** OpenSSL's own words name no file. */
function tried<T>(problem: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new SettingError(problem, { cause: error });
  }
}
