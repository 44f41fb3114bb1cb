/** Engines that keep indexes of small segments in files, one after another on the same folder, and what they log. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectionRef, WriteRecord } from "@sheaf/protocol";
import { onTestFinished } from "vitest";
import type { IndexSettings } from "../collection/open-collection-options.ts";
import type { Engine } from "../engine.ts";
import type { EngineLogEntry } from "../engine-log.ts";
import { createLocalEngine } from "../create-local-engine.ts";
import type { LocalEngineOptions } from "../local-engine-options.ts";
import { DataFolder } from "../storage/folder/data-folder.ts";
import type { DiskSpaceOptions } from "../storage/folder/disk-space.ts";
import { INCLUDE, listsOf, makeCollection, record, write } from "./engine-fixtures.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const INDEX = { files: true, sizes: { denseRows: 32, sizes: { mutableRows: 32, sealedRows: 128 } } };
export const ROWS = 300;
export const ALL = Array.from({ length: ROWS }, (_, i) => i);

export class IndexedFolder {
  readonly path = temporaryFolder();
  readonly logged: EngineLogEntry[] = [];

  /** `more`: every collection has files of its own with `shareStores: null`. */
  async open(
    index: IndexSettings = INDEX,
    more: DiskSpaceOptions & Pick<LocalEngineOptions, "indexMemory" | "shareStores" | "unsealedMemory"> = {},
  ): Promise<Engine> {
    const log = (entry: EngineLogEntry): void => void this.logged.push(entry);
    const options = { dataFolder: this.path, index, log, ...more };
    const engine = await createLocalEngine(options as LocalEngineOptions);
    onTestFinished(() => engine.close());
    return engine;
  }

  /** A collection of several sealed segments whose files are on the disk. */
  async filled(engine: Engine): Promise<CollectionRef> {
    const ref = await makeCollection(engine);
    await write(engine, ref, "add", ...ALL.map(row));
    await this.settledNames(ref);
    return ref;
  }

  indexOf({ id }: CollectionRef): string {
    return new DataFolder(this.path).collectionIndex(id);
  }

  names(ref: CollectionRef): string[] {
    const folder = this.indexOf(ref);
    return existsSync(folder) ? readdirSync(folder).toSorted() : [];
  }

  segmentsOf(ref: CollectionRef): string[] {
    return this.names(ref).filter((name) => name.endsWith(".seg"));
  }

  quarantined(ref: CollectionRef): string[] {
    const folder = join(this.indexOf(ref), "quarantine");
    return existsSync(folder) ? readdirSync(folder).toSorted() : [];
  }

  /** Waits until there is a manifest and nothing changes any more. */
  async settledNames(ref: CollectionRef): Promise<string[]> {
    for (let before = ""; ;) {
      await sleep(1_500);
      const now = this.names(ref);
      if (now.some((name) => name.startsWith("manifest-")) && now.join() === before) return now;
      before = now.join();
    }
  }
}

export function vector(i: number): Float32Array {
  return Float32Array.of(Math.sin(i), Math.cos(i * 1.7));
}

export function row(i: number): WriteRecord {
  return record(`r${i}`, {
    embedding: vector(i),
    document: `number ${i}`,
    metadata: new Map<string, string | bigint>([
      ["n", BigInt(i)],
      ["parity", i % 2 === 0 ? "even" : "odd"],
    ]),
  });
}

export async function nearest(engine: Engine, ref: CollectionRef, i: number): Promise<string[]> {
  const request = { ids: null, where: null, embeddings: [vector(i)], limit: 5, include: INCLUDE };
  const [found = []] = await listsOf(engine, ref, engine.query(ref, request));
  return found.map(({ id }) => id);
}

/** Ids of the five nearest of those records, as they are computed one by one. */
export function expected(ids: readonly number[], query: number): string[] {
  const [x, y] = vector(query) as unknown as [number, number];
  const distance = (i: number): number => (vector(i)[0]! - x) ** 2 + (vector(i)[1]! - y) ** 2;
  return ids
    .toSorted((a, b) => distance(a) - distance(b) || a - b)
    .slice(0, 5)
    .map((i) => `r${i}`);
}
