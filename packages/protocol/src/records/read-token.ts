/**
 * Read tokens on the wire: base64url of `<collection> <epoch> <sequence>`. To a client a token is opaque. It is no
 * secret and nothing is granted by it, so it is checked for its form and not signed.
 */
import { invalid } from "../errors.ts";
import type { ReadToken } from "./ast.ts";

const ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
/** Folders of before there were epochs have the empty one. */
const TOKEN = new RegExp(`^(${ID}) ((?:${ID})?) (0|[1-9][0-9]{0,15})$`);
const BASE64URL = /^[A-Za-z0-9_-]{1,256}$/;

export function writeReadToken({ collection, epoch, sequence }: ReadToken): string {
  const base64 = btoa(`${collection} ${epoch} ${sequence}`);
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @throws SheafError 400 for a text that no server has made. */
export function parseReadToken(text: string, path: string): ReadToken {
  const [, collection, epoch, digits] = TOKEN.exec(decode(text)) ?? [];
  const sequence = Number(digits);
  if (collection === undefined || epoch === undefined || !Number.isSafeInteger(sequence)) {
    throw invalid(path, "is not a read token");
  }
  return Object.freeze({ collection, epoch, sequence });
}

/** The empty text for what is no base64url. */
function decode(text: string): string {
  if (!BASE64URL.test(text) || text.length % 4 === 1) return "";
  return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
}
