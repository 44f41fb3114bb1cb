/** The body that asks for the weights of a model. */
import { BodyReader } from "../catalog/body-reader.ts";

export interface PullBody {
  /** Identifier, which is looked up where models are known. */
  readonly model: string;
}

/** @throws SheafError 422 for a wrong type, a missing member or an unknown one. */
export function parsePullBody(body: unknown): PullBody {
  const reader = new BodyReader(body, "");
  reader.refuseUnknown(["model"]);
  return Object.freeze({ model: reader.requiredString("model") });
}
