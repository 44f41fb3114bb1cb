/** Requests that may ask for nothing that Chroma has not: all of them with `--strict`, or those whose header says so. */
import {
  type ExtensionName,
  extensionRefusal,
  invalid,
  refuseCommitExtensions,
  refuseGetExtensions,
  refuseSchemaExtensions,
  refuseSearchExtensions,
  refuseWriteExtensions,
} from "@sheaf/protocol";
import type { BodyParserName, ParsedBody } from "../bodies/body-parsers.ts";

export const STRICT_HEADER = "x-sheaf-strict";

type Refusal<Name extends BodyParserName> = (body: ParsedBody<Name>) => void;

const REFUSALS: { readonly [Name in BodyParserName]?: Refusal<Name> } = {
  get: refuseGetExtensions,
  conditionalGet: ({ get }) => refuseGetExtensions(get),
  search: refuseSearchExtensions,
  add: refuseWriteExtensions,
  update: refuseWriteExtensions,
  upsert: refuseWriteExtensions,
  conditionalCommit: refuseCommitExtensions,
  createCollection: refuseSchemaExtensions,
};

/** Throws 400 for a header that says neither. It cannot loosen a strict server. */
export function isStrict(header: string | null, always: boolean): boolean {
  if (header !== null && header !== "1" && header !== "0") throw invalid(STRICT_HEADER, "must be 1 or 0");
  return always || header === "1";
}

/** Throws 400 for a route that Chroma has not. */
export function refuseRoute(extension: ExtensionName | undefined): void {
  if (extension !== undefined) throw extensionRefusal(extension);
}

/** Throws 400 for a body that asks for an extension, and names it. */
export function refuseInBody<Name extends BodyParserName>(parser: Name, body: ParsedBody<Name>): void {
  const refuse: Refusal<Name> | undefined = REFUSALS[parser];
  refuse?.(body);
}
