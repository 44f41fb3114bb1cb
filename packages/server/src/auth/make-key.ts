/**
 * The text of a key that Sheaf makes: a prefix to find it by, 30 random bytes, and a checksum by which a scanner, and
 * a server before it looks anything up, tells a key from something that only looks like one.
 */
import { createHash, randomBytes } from "node:crypto";

const SECRET_BYTES = 30;
const CHECKSUM_CHARACTERS = 8;
const SHAPE = /^sheaf_([\w-]{40})([0-9a-f]{8})$/;

/** A new key of 240 random bits. */
export function makeKey(): string {
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  return `sheaf_${secret}${checksum(secret)}`;
}

/** Whether Sheaf can have made it; says nothing of whether it did. */
export function isMadeKey(text: string): boolean {
  const [, secret, sum] = SHAPE.exec(text) ?? [];
  return secret !== undefined && checksum(secret) === sum;
}

function checksum(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, CHECKSUM_CHARACTERS);
}
