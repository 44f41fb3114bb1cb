/** What of each record a search answers. */
import { type KeyInput, K, keyName } from "./key.ts";

export interface SelectJson {
  readonly keys: readonly string[];
}

export type SelectInput =
  | Select
  | Iterable<KeyInput>
  | { readonly keys?: Iterable<KeyInput> }
  | null
  | undefined;

/** A set of keys in the order in which they were named. */
export class Select {
  readonly values: readonly string[];

  constructor(keys: Iterable<KeyInput> = []) {
    this.values = [...new Set(Array.from(keys, (key, i) => keyName(key, `select[${i}]`)))];
  }

  static from(input: SelectInput): Select {
    if (input instanceof Select) return input;
    if (typeof input === "string") throw new TypeError("select: must be an array of keys");
    const hasKeys = typeof input === "object" && input !== null && !(Symbol.iterator in input);
    return new Select((hasKeys ? input.keys : input) ?? []);
  }

  /** Document, embedding, metadata and score. */
  static all(): Select {
    return new Select([K.DOCUMENT, K.EMBEDDING, K.METADATA, K.SCORE]);
  }

  toJSON(): SelectJson {
    return { keys: this.values };
  }
}
