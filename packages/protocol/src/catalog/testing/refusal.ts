/** What the tests of bodies need: a body as the server reads it, and the error that a call throws. */
import { SheafError } from "../../errors.ts";
import { readJson } from "../../json/json-reader.ts";

/** The body as a parser gets it; a value is written as JSON first. */
export function bodyOf(value: unknown): unknown {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return readJson(new TextEncoder().encode(text));
}

/** `status message` of the error that `run` throws; fails on any other end. */
export function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof SheafError) return `${error.status} ${error.message}`;
    throw error;
  }
  throw new Error("nothing was refused");
}
