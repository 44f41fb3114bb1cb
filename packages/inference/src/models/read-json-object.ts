/** Reads the small configuration files of a model's folder, which are needed before anything can be started. */
import { readFileSync } from "node:fs";
import { errorCode, modelFileError, parseObject } from "../graph/model-file.ts";

/** Throws 503 `model_unavailable` naming the file if it holds no JSON object. */
export function readJsonObject(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw modelFileError(file, `cannot be read (${errorCode(error)})`, error);
  }
  return parseObject(file, text);
}
