/**
 * Collections whose stored data was found damaged, and not found whole since. The operator is told of each once, with the
 * place of the damage; callers learn that it is damaged and what to do, and nothing of the data folder.
 */
import { SheafError } from "@sheaf/protocol";
import { type EngineLog, describeError } from "../../engine-log.ts";
import { UnreadableRecord } from "./damaged-records.ts";

/** What outlives an engine, which may end of damage. */
export interface DamageMemory {
  /** Known to an engine before. */
  readonly damaged?: readonly string[];
  /** A collection was found damaged, or it is whole again or gone. */
  readonly onDamage?: (collection: string, isDamaged: boolean) => void;
}

export class DamagedCollections {
  readonly #log: EngineLog;
  readonly #isCopy: boolean;
  readonly #found: Set<string>;
  readonly #onDamage: NonNullable<DamageMemory["onDamage"]>;

  /** @param isCopy Its records are in a database, and what is here, or is read of an object store, is no matter of the doctor's. */
  constructor(log: EngineLog, { damaged = [], onDamage = () => {} }: DamageMemory, isCopy = false) {
    this.#log = log;
    this.#isCopy = isCopy;
    this.#found = new Set(damaged);
    this.#onDamage = onDamage;
  }

  get count(): number {
    return this.#found.size;
  }

  get ids(): readonly string[] {
    return [...this.#found];
  }

  /** It was found damaged, and not found whole since. */
  isKnown(id: string): boolean {
    return this.#found.has(id);
  }

  /** It is known already, and was logged. */
  add(id: string): void {
    if (this.#found.has(id)) return;
    this.#found.add(id);
    this.#onDamage(id, true);
  }

  /** All of its records could be read, or it was deleted. */
  remove(id: string): void {
    if (this.#found.delete(id)) this.#onDamage(id, false);
  }

  /** An error of a call on the collection as its caller may see it. */
  refusal(error: unknown, id: string): unknown {
    if (!this.hear(error, id) || error instanceof UnreadableRecord) return error;
    return this.#isCopy ? unreadableCopy(id, error) : unreadable(id, error);
  }

  /** Whether the error is about damage. */
  hear(error: unknown, id: string): boolean {
    if (!(error instanceof SheafError) || error.code !== "collection_unavailable") return false;
    if (!this.#found.has(id)) {
      this.add(id);
      const remedy = this.#isCopy
        ? "bring the file back in the object store, or empty this data folder"
        : "run `sheaf doctor`";
      this.#log({
        level: "error",
        message: `a collection is damaged: requests that need the damaged data are 500; ${remedy}`,
        collection: id,
        error: describeError(error),
      });
    }
    return true;
  }
}

/** For callers: the place of the damage is in the log. */
export function unreadable(id: string, cause?: unknown): SheafError {
  const message =
    `the stored data of collection [${id}] cannot be read; the operator of the server has to run \`sheaf doctor\`, ` +
    "which says what to do";
  return new SheafError("collection_unavailable", message, { cause });
}

/** The same on a server whose records are in a database, of whose data the doctor knows nothing. */
function unreadableCopy(id: string, cause: unknown): SheafError {
  const message = `the stored data of collection [${id}] cannot be read; the operator finds in the log of the server what is damaged`;
  return new SheafError("collection_unavailable", message, { cause });
}
