/** A certificate that signs itself, for tests of TLS. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

const ECDSA_WITH_SHA256 = "06082a8648ce3d040302";
const COMMON_NAME = "0603550403";
const BASIC_CONSTRAINTS = "0603551d13";
const ALTERNATIVE_NAMES = "0603551d11";
const TRUE = "0101ff";

/** Both in PEM. */
export interface SelfSigned {
  readonly certificate: string;
  readonly key: string;
}

/**
 * X.509 (RFC 5280) for localhost and 127.0.0.1, in DER by hand: Node reads certificates and makes none.
 * @param end As `YYYYMMDDHHMMSSZ`.
 */
export function selfSigned(end = "21200101000000Z"): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, hex(ECDSA_WITH_SHA256));
  const name = der(0x30, der(0x31, der(0x30, hex(COMMON_NAME), der(0x0c, text("localhost")))));
  const subjects = der(0x30, der(0x82, text("localhost")), der(0x87, Buffer.of(127, 0, 0, 1)));
  const extensions = der(
    0x30,
    der(0x30, hex(BASIC_CONSTRAINTS), hex(TRUE), der(0x04, der(0x30, hex(TRUE)))),
    der(0x30, hex(ALTERNATIVE_NAMES), der(0x04, subjects)),
  );
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    algorithm,
    name,
    der(0x30, der(0x18, text("20200101000000Z")), der(0x18, text(end))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const whole = der(0x30, body, algorithm, der(0x03, Buffer.of(0), signature));
  return { certificate: pem("CERTIFICATE", whole), key: keyPem(privateKey) };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length =
    content.length < 0x80
      ? Buffer.of(content.length)
      : Buffer.of(0x82, content.length >> 8, content.length & 0xff);
  return Buffer.concat([Buffer.of(tag), length, content]);
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, "hex");
}

function text(ascii: string): Buffer {
  return Buffer.from(ascii, "ascii");
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/gu) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

function keyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
