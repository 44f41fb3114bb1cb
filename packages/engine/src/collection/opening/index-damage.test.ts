/**
 * Whatever is changed in the index files of a small collection, its answers are those of an index that was made of the
 * records. Of the bytes a sample, by `SHEAF_SWEEP_SEED`; all of them: `npm run sweep`.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { randomOf } from "../../segment/dense/testing/data-sets.ts";
import { DamageSweep, type FileChanges, flipped, isFoundByVerifying } from "./testing/damage-sweep.ts";

const SEED = Number(process.env["SHEAF_SWEEP_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
console.log(`index damage: SHEAF_SWEEP_SEED=${SEED}`);
const PAIRS = 25;

const random = randomOf(SEED);
let sweep: DamageSweep;
let names: readonly string[];

beforeAll(async () => {
  sweep = await DamageSweep.make();
  names = [...sweep.files.keys()];
});

function below(limit: number): number {
  return Math.floor(random() * limit);
}

function bytesOf(name: string): Uint8Array {
  return sweep.files.get(name)!;
}

function manifestIn(files: Iterable<string>): string | undefined {
  return [...files].find((name) => name.startsWith("manifest-"));
}

/** Tried with the files changed before they are opened; says what it was where it fails. */
async function outcome(what: string, changes: FileChanges): Promise<readonly string[]> {
  try {
    return (await sweep.outcomeOf(changes)).found;
  } catch (error) {
    throw new Error(what, { cause: error });
  }
}

describe("index files with damage", () => {
  it("are segments, dead rows and a manifest", async () => {
    expect(names.filter((name) => name.endsWith(".seg")).length).toBeGreaterThan(2);
    expect(names.filter((name) => name.endsWith(".dead"))).toHaveLength(1);
    expect(names.filter((name) => name.startsWith("manifest-"))).toHaveLength(1);
    expect(await sweep.outcomeOf(new Map())).toEqual({ found: [], openings: 1 });
  });

  it("have it found in every part that is read, before a byte of it is part of an answer", async () => {
    const found = new Set<string>();
    const all = new Set<string>();
    for (const { file, name, from, to } of names.flatMap((one) => sweep.parts(one))) {
      all.add(name);
      for (const at of [from, to - 1, from + below(to - from)]) {
        const where = `byte ${at - from} of ${name} in ${file}`;
        const isFound = await sweep.flip(file, at).catch((cause: unknown) => {
          throw new Error(where, { cause });
        });
        if (isFound) found.add(name);
        expect(await isFoundByVerifying(file, flipped(bytesOf(file), at, 0x10)), where).toBe(true);
      }
    }
    // So few rows are not looked through by their codes; `segment-damage.test.ts` does that.
    const unread = ["blocks", "factors", "magnitudes", "padding", "records"];
    expect(unread).toEqual(expect.arrayContaining([...all].filter((name) => !found.has(name))));
  });

  it("do not matter where nothing is read", async () => {
    const changes = new Map<string, Uint8Array>();
    for (const [name, read] of await sweep.readBytes())
      changes.set(
        name,
        bytesOf(name).map((byte, i) => (read[i] === 1 ? byte : byte ^ 0xff)),
      );
    expect(await outcome("all that is not read", changes)).not.toContain(manifestIn(names));
  });

  it("have it found after they were opened, or do not need it any more", async () => {
    let found = 0;
    for (const { file, name, from, to } of names.flatMap((one) => sweep.parts(one))) {
      const at = from + below(to - from);
      const isFound = await sweep.flip(file, at, true).catch((cause: unknown) => {
        throw new Error(`byte ${at - from} of ${name} in ${file}`, { cause });
      });
      if (isFound) found++;
    }
    expect(found).toBeGreaterThan(5);
  });

  it("may be missing, cut, longer, empty or others", async () => {
    for (const name of names) {
      const bytes = bytesOf(name);
      const isManifest = name.startsWith("manifest-");
      const gone = await outcome(`${name} missing`, new Map([[name, null]]));
      expect(gone).toEqual(isManifest ? [] : [name]);
      const ends = sweep.parts(name).map(({ from }) => from);
      for (const end of [...ends, 1, bytes.length - 1, below(bytes.length)])
        expect(await outcome(`${name} of ${end} bytes`, new Map([[name, bytes.slice(0, end)]]))).toEqual([
          name,
        ]);
      const longer = Buffer.concat([bytes, Buffer.alloc(1 + below(5_000))]);
      expect(await outcome(`${name}, longer`, new Map([[name, longer]]))).toEqual([name]);
      for (const other of names.filter((one) => one !== name)) {
        const copied = new Map([[name, bytesOf(other)]]);
        expect(await outcome(`${other} as ${name}`, copied)).toEqual([name]);
        const swapped = new Map([...copied, [other, bytes] as const]);
        const first = isManifest ? name : (manifestIn([other]) ?? name);
        expect(await outcome(`${other} and ${name} swapped`, swapped)).toContain(first);
      }
    }
  });

  it("may be those of another time, all or some", async () => {
    const { earlier } = sweep.collection;
    const nothing = names.map((name) => [name, null] as const);
    await outcome("the earlier ones", new Map([...nothing, ...earlier]));
    await outcome("both", earlier);
    for (const name of earlier.keys()) {
      await outcome(`${name} of before as well`, new Map([[name, earlier.get(name)!]]));
      await outcome(`those of before without ${name}`, new Map([...nothing, ...earlier, [name, null]]));
    }
    const older = manifestIn(earlier.keys())!;
    const newer = manifestIn(names)!;
    const isOld = new Map([[newer, null], [older, earlier.get(older)!] as const]);
    await outcome("the manifest of before with the files of now", isOld);
    const renamed = new Map([["manifest-999", bytesOf(newer)]]);
    expect(await outcome("the manifest under another number", renamed)).toEqual(["manifest-999"]);
  });

  it("may be damaged several at a time", async () => {
    for (let i = 0; i < PAIRS; i++) {
      const changes = new Map<string, Uint8Array | null>();
      for (const name of names)
        if (below(2) === 0) {
          const bytes = bytesOf(name);
          changes.set(name, below(4) === 0 ? null : flipped(bytes, below(bytes.length), 1 << below(8)));
        }
      const found = await outcome(`pair ${i}`, changes);
      expect([...changes.keys()]).toEqual(expect.arrayContaining([...found]));
    }
  });
});
