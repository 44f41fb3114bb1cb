/**
 * In PostgreSQL: which index files in the object store are a collection's index, and which files nobody needs. Files are
 * `staged` before their first byte is sent, and `live` from the commit that first refers to them. What nothing refers to is
 * `doomed` after a while, then removed. A file that is doomed stays so: who wants it has to write it under another name.
 *
 * Whoever refers to a file changes its row, and whoever dooms one looks at its row once that change is done. So a file that
 * something refers to is never doomed, whichever of the two comes first.
 */
import { collectionOf } from "../folder/partition-name.ts";
import type { LogHead } from "../log/commit-log.ts";
import { type Manifest, filesOf } from "../files/manifest.ts";
import { parseManifest } from "../files/parse-manifest.ts";
import type { Connection, PostgresDatabase, Row, Verdict } from "./postgres-database.ts";

export interface PublishedManifest {
  /** One more with each that replaces another. */
  readonly n: number;
  /** Of the log that its state is of. */
  readonly epoch: string;
  /** Made for this publication. */
  readonly token: string;
  /** `null`: this program cannot read it. */
  readonly manifest: Manifest | null;
  /** Since it was published, by the database's clock. */
  readonly ageMs: number;
}

export interface Publication {
  /** Its id, or the name of a partition of it, which has a manifest of its own. */
  readonly collection: string;
  /** `n` of the manifest that it replaces; `null`: there is none. */
  readonly after: number | null;
  /** Stays the same in each attempt. */
  readonly token: string;
  /** Of the log, at the manifest's head or later. */
  readonly state: LogHead;
  readonly manifest: Manifest;
}

/**
 * `moved`: another manifest is there by now. `spent`: a file is doomed. `gone`: there is no such collection, or the state is
 * none of its log. After these three nothing has changed.
 */
export type PublicationOutcome = "done" | "moved" | "spent" | "gone";

/** Kinds of a hundred thousand metadata keys take less. */
const MOST_BYTES = 16 * 1024 * 1024;

export class PostgresManifests {
  readonly #database: PostgresDatabase;

  /** @param database Not closed by this. */
  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** `null`: none was published. */
  async read(collection: string): Promise<PublishedManifest | null> {
    const [row] = await this.#database.read(this.#sql.read, [collection]);
    if (row === undefined) return null;
    const { epoch, token, body } = row as Readonly<Record<string, string>>;
    const manifest = manifestOf(body!);
    return { n: Number(row["n"]), epoch: epoch!, token: token!, manifest, ageMs: Number(row["age"]) };
  }

  /** Before the first byte of an object is sent. `live`: it was sent and looked at before. `spent`: not under this name. */
  async stage(name: string, bytes: number): Promise<"staged" | "live" | "spent"> {
    const [row] = await this.#change(this.#sql.stage, [name, bytes]);
    if (row === undefined) return "spent";
    return row["state"] === "live" ? "live" : "staged";
  }

  /** Once all files are there as they were written. */
  publish(publication: Publication): Promise<PublicationOutcome> {
    return this.#database.retry(() =>
      this.#database.transact((connection) => this.#publish(connection, publication)),
    );
  }

  /**
   * Takes out of use what nothing has referred to for so long, or for `keepMs` where records are in it, and the manifests of
   * collections that are gone.
   */
  async doom(afterMs: number, keepMs: number): Promise<void> {
    for (const { collection } of await this.#database.read(this.#sql.lost)) {
      await this.#change(this.#sql.removeRefs, [collection, []]);
      await this.#change(this.#sql.remove, [collection]);
    }
    while ((await this.#change(this.#sql.doom, [afterMs, keepMs])).length > 0);
    await this.#change(this.#sql.forget, []);
  }

  /** Some of the files whose objects are to be removed. */
  async doomed(): Promise<readonly string[]> {
    return (await this.#database.read(this.#sql.doomed)).map(({ id }) => String(id));
  }

  /** The object of a doomed file is gone. */
  async removed(name: string): Promise<void> {
    await this.#change(this.#sql.removed, [name]);
  }

  /** Id of this database and its copies, made with its tables, and whether an object says that a prefix is its. */
  async cluster(): Promise<{ readonly id: string; readonly isMarked: boolean }> {
    const [row] = await this.#database.read(this.#sql.cluster);
    return { id: String(row!["id"]), isMarked: row!["marked"] === true };
  }

  /** Such an object is there. */
  async mark(): Promise<void> {
    await this.#change(this.#sql.mark, []);
  }

  /** Whether nobody has claimed for so long to look for objects that no file knows; then the caller has. */
  async claimListing(afterMs: number): Promise<boolean> {
    return (await this.#change(this.#sql.claimListing, [afterMs])).length > 0;
  }

  /** Objects of these names are there: those that no file knows are files that nothing refers to, from now on. */
  async adopt(names: readonly string[]): Promise<void> {
    await this.#change(this.#sql.adopt, [names]);
  }

  /** Whether records of any collection are in the object store. */
  async hasRecordFiles(): Promise<boolean> {
    return (await this.#database.read(this.#sql.hasRecordFiles)).length > 0;
  }

  get #sql(): PostgresDatabase["statements"]["manifests"] {
    return this.#database.statements.manifests;
  }

  /** For what may be done twice. */
  #change(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#database.retry(() => this.#database.change(text, values));
  }

  async #publish(
    { query }: Connection,
    { collection, after, token, state, manifest }: Publication,
  ): Promise<Verdict<PublicationOutcome>> {
    const { keepHead, newest, insert, replace, lockFiles, revive, addRefs, removeRefs } = this.#sql;
    const failed = (value: PublicationOutcome): Verdict<PublicationOutcome> => ({ commit: false, value });
    const body = JSON.stringify(manifest);
    if (body.length > MOST_BYTES) throw new RangeError(`a manifest of ${body.length} bytes is not published`);
    const log = collectionOf(collection);
    const isThere = (await query(keepHead, [log])).length > 0;
    const { isState } = this.#database.statements.log;
    const { epoch, sequence, batch } = state;
    if (!isThere || (await query(isState, [log, epoch, sequence, batch])).length === 0) return failed("gone");
    const [before] = await query(newest, [collection]);
    // The first attempt was not answered.
    if (before?.["token"] === token) return failed("done");
    if ((before === undefined ? null : Number(before["n"])) !== after) return failed("moved");
    const values = [collection, (after ?? 0) + 1, epoch, sequence, batch, token, body];
    const placed = after === null ? await query(insert, values) : await query(replace, [...values, after]);
    if (placed.length === 0) return failed("moved");
    const files = filesOf(manifest).map(({ name }) => name);
    await query(lockFiles, [files]);
    if ((await query(revive, [files])).length < files.length) return failed("spent");
    await query(addRefs, [collection, files]);
    await query(removeRefs, [collection, files]);
    return { commit: true, value: "done" };
  }
}

function manifestOf(text: string): Manifest | null {
  try {
    return parseManifest(text, (reason) => new RangeError(reason));
  } catch {
    return null;
  }
}
