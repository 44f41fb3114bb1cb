/**
 * Opens the files of a model folder. Whatever is missing or damaged is 503 `model_unavailable` with the file's path,
 * because the fix is the operator's: download the model again, or point to another folder.
 */
import { type FileHandle, open } from "node:fs/promises";
import { LIMITS, SheafError } from "@sheaf/protocol";

export function modelFileError(file: string, problem: string, cause?: unknown): SheafError {
  return new SheafError("model_unavailable", `${file}: ${problem}`, { cause });
}

export async function openModelFile(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (cause) {
    throw modelFileError(file, `cannot be opened (${errorCode(cause)})`, cause);
  }
}

/** A JSON object of bounded size. */
export async function readModelJson(file: string): Promise<Record<string, unknown>> {
  const handle = await openModelFile(file);
  try {
    const { size } = await handle.stat();
    if (size > LIMITS.modelHeaderBytes) {
      throw modelFileError(file, `${size} bytes, the limit is ${LIMITS.modelHeaderBytes}`);
    }
    return parseObject(file, await handle.readFile("utf8"));
  } finally {
    await handle.close();
  }
}

/** Parses text that `file` holds. */
export function parseObject(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw modelFileError(file, "not valid JSON", cause);
  }
  if (!isObject(value)) throw modelFileError(file, "not a JSON object");
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `ENOENT` and the like. */
export function errorCode(error: unknown): string {
  return isObject(error) && typeof error["code"] === "string" ? error["code"] : String(error);
}
