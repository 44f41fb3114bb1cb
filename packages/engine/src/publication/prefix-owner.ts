/**
 * Whose the objects under a prefix are. A database has an id, and an object `cluster/<id>` under the prefix says that it is of
 * that one. Nothing else tells objects of two databases apart, and each would remove what only the other one refers to.
 */
import { createHash } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import type { ObjectStore } from "../storage/objects/object-store.ts";
import type { PostgresManifests } from "../storage/postgres/postgres-manifests.ts";

const FOLDER = "cluster/";

export interface PrefixOwnerOptions {
  readonly store: Pick<ObjectStore, "list" | "put" | "remove">;
  readonly manifests: Pick<PostgresManifests, "cluster" | "mark">;
  /** Bucket and prefix, as an operator knows them. */
  readonly place: string;
}

export class PrefixOwner {
  readonly #options: PrefixOwnerOptions;

  constructor(options: PrefixOwnerOptions) {
    this.#options = options;
  }

  /**
   * Marks a prefix that is nobody's, where the database has none. Throws `failed_precondition`, which names both, for a prefix of
   * another database, and for a database whose objects are elsewhere.
   */
  async require(): Promise<void> {
    const { store, manifests, place } = this.#options;
    const { id: own, isMarked } = await manifests.cluster();
    const known = await store.list(FOLDER);
    this.#refuseOthers(own, known);
    if (known.length > 0) return isMarked ? undefined : manifests.mark();
    const mark = `${FOLDER}${own}`;
    if (isMarked)
      throw new SheafError(
        "failed_precondition",
        `the objects of this database (cluster ${own}) are not under ${place}: name the bucket and prefix that its other servers have; where they are there, put the object ${mark} back`,
      );
    const text = Buffer.from(`The objects beside this folder are those of the Sheaf cluster ${own}.\n`);
    await store.put(mark, text, createHash("md5").update(text).digest());
    try {
      // Servers of another database may have begun at the same moment. Then neither has it.
      this.#refuseOthers(own, await store.list(FOLDER));
    } catch (error) {
      await store.remove(mark);
      throw error;
    }
    await manifests.mark();
  }

  /** Only to learn whether the store answers. Never rejects. */
  async ask(): Promise<void> {
    await this.#options.store.list(FOLDER).catch(() => {});
  }

  #refuseOthers(own: string, known: readonly string[]): void {
    const other = known.find((name) => name !== `${FOLDER}${own}`);
    if (other === undefined) return;
    const { place } = this.#options;
    throw new SheafError(
      "failed_precondition",
      `the objects under ${place} are those of another database (cluster ${other.slice(FOLDER.length)}), and this one is cluster ${own}: ` +
        `give it a prefix of its own; where it is the same database, set back to before it had an id, remove the object ${other} there`,
    );
  }
}
