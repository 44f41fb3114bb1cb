/**
 * One object, from its first byte to its last: in one request where it is small, in parts of 8 MiB where it is not, or of more
 * where there would be too many. All but the last have the same size, which some stores ask for.
 */
import { type Hash, createHash } from "node:crypto";
import { SheafError } from "@sheaf/protocol";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SegmentFileWriter } from "../files/segment-files.ts";
import type { ObjectStore } from "./object-store.ts";

/** Copied and summed up between two turns of the event loop. */
const STEP_BYTES = 1024 * 1024;

/** Of a part, and between those of two objects: a multiple of it. */
const PART_STEP_BYTES = 1024 * 1024;
/** What is expected is known by about so much. */
const MARGIN = 1.25;

export class ObjectWriter implements SegmentFileWriter {
  readonly #store: ObjectStore;
  readonly #name: string;
  readonly #partBytes: number;
  #chunks: Buffer[] = [];
  #hash: Hash = createHash("md5");
  #filled = 0;
  #size = 0;
  #upload: string | null = null;
  readonly #parts: Promise<string>[] = [];
  #state: "open" | "committed" | "aborted" = "open";

  /** @param expectedBytes As of `SegmentFiles`. */
  constructor(store: ObjectStore, name: string, expectedBytes = 0) {
    this.#store = store;
    this.#name = name;
    const { partBytes, parts } = store.limits;
    const least = Math.ceil((MARGIN * expectedBytes) / parts / PART_STEP_BYTES) * PART_STEP_BYTES;
    this.#partBytes = Math.max(partBytes, least);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const room = Math.min(STEP_BYTES, this.#partBytes - this.#filled);
      const chunk = Buffer.from(bytes.subarray(at, at + room));
      this.#chunks.push(chunk);
      this.#hash.update(chunk);
      this.#filled += chunk.length;
      at += chunk.length;
      if (this.#filled === this.#partBytes) await this.#sendPart();
      else if (at < bytes.length) await nextTurn();
    }
    this.#size += bytes.length;
  }

  async commit(): Promise<void> {
    if (this.#upload === null) {
      await this.#requireNew();
      await this.#store.put(this.#name, Buffer.concat(this.#chunks), this.#hash.digest());
    } else {
      if (this.#filled > 0) await this.#sendPart();
      const tags = await Promise.all(this.#parts);
      await this.#requireNew();
      const outcome = await this.#store.endUpload(this.#name, this.#upload, tags);
      // An earlier attempt was not answered, and may have made the object.
      if (outcome === "missing" && (await this.#store.sizeOf(this.#name)) !== this.#size)
        throw new SheafError("unavailable", `the upload of index file ${this.#name} is lost`);
    }
    this.#state = "committed";
    this.#chunks = [];
  }

  /** What cannot be removed now is left to the bucket's own rule for uploads that nobody ends. */
  async abort(): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "aborted";
    this.#chunks = [];
    await Promise.allSettled(this.#parts);
    if (this.#upload !== null) await this.#store.abortUpload(this.#name, this.#upload).catch(() => {});
  }

  /** Names are made once, by one writer; this finds a mistake, and is no lock. */
  async #requireNew(): Promise<void> {
    if ((await this.#store.sizeOf(this.#name)) !== null)
      throw new SheafError("already_exists", `index file ${this.#name} exists already`);
  }

  /** Waits until less than the store takes at once is on its way. */
  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#store.beginUpload(this.#name);
    const [body, md5] = [Buffer.concat(this.#chunks), this.#hash.digest()];
    [this.#chunks, this.#filled, this.#hash] = [[], 0, createHash("md5")];
    const place = { name: this.#name, upload: this.#upload, number: this.#parts.length + 1 };
    const part = this.#store.putPart(place, body, md5);
    // Whoever waits for it learns of its failure.
    part.catch(() => {});
    this.#parts.push(part);
    const earliest = this.#parts.length - this.#store.limits.uploads;
    if (earliest >= 0) await this.#parts[earliest];
  }
}
