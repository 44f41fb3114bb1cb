/** A refusal as a test row says it: a status, from which the `error` name follows, and what the message says. */
import { expect } from "vitest";
import type { ServedSheaf } from "../../e2e/testing/served-sheaf.ts";
import { ask, type Question } from "./wire.ts";

/** Names that a status of its own has; every other one is `ChromaError`. */
const ERROR_NAMES: Readonly<Record<number, string>> = {
  400: "InvalidArgumentError",
  404: "NotFoundError",
  410: "Unimplemented",
  500: "InternalError",
};

/** Status and body of an answer, to be compared with `refused`. */
export async function refusal(
  served: ServedSheaf,
  question: Question,
): Promise<{ status: number; body: unknown }> {
  const { status, text } = await ask(served, question);
  return { status, body: JSON.parse(text) as unknown };
}

/** What a v2 route answers with: `error` and `message`, and nothing else. */
export function refused(status: number, message: RegExp): object {
  return {
    status,
    body: { error: ERROR_NAMES[status] ?? "ChromaError", message: expect.stringMatching(message) },
  };
}

/** What an embedding route answers with: `error`, and nothing else. */
export function embeddingRefused(status: number, message: RegExp): object {
  return { status, body: { error: expect.stringMatching(message) } };
}
