/** The behaviour of every commit log. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  CHECKPOINT_EPOCH,
  type AppendOutcome,
  type CommitLog,
  EVERY_PARTITION,
  type LogBatch,
  type LogHead,
  type LogPart,
  LogTrimmed,
  firstHead,
  headAfter,
} from "./commit-log.ts";

export interface CommitLogSuite {
  readonly name: string;
  /** An empty one. */
  readonly open: (maxBytes?: number) => CommitLog;
}

const EPOCH = "epoch-1";
const START = firstHead(EPOCH);
const STATE = Buffer.from("state");
const EMPTY = { bytes: 0, checkpointBytes: 0, usage: { records: 0, bytes: 0 } };

export function batch(sequence: number, text = String(sequence), id = randomUUID()): LogBatch {
  return { id, sequence, parts: [{ partition: 0, body: Buffer.from(text) }] };
}

export async function readAll(
  log: CommitLog,
  after: LogHead,
  collection = "c",
  partition?: number,
): Promise<readonly LogBatch[]> {
  const found = await log.read(collection, after, partition);
  if (found === "trimmed") throw new Error("trimmed");
  const batches: LogBatch[] = [];
  for await (const one of found) batches.push(one);
  return batches;
}

export function commitLogSuite({ name, open }: CommitLogSuite): void {
  describe(`behaviour of the ${name}`, () => {
    let log: CommitLog;

    beforeEach(async () => {
      log = open();
      await log.create("c", { epoch: EPOCH, state: STATE });
    });
    afterEach(() => log.close());

    const append = (from: LogHead, ...batches: readonly LogBatch[]): Promise<AppendOutcome> =>
      log.append("c", from, { batches, state: STATE });
    /** To the state after one of its batches. */
    const trim = ({ id, sequence }: LogBatch): Promise<"done" | "moved"> =>
      log.trim("c", { epoch: EPOCH, sequence, batch: id, place: `c/${id}`, bytes: 1 });
    const headOf = async (): Promise<LogHead> => {
      const [head] = await log.heads(["c"]);
      return { epoch: head!.epoch, sequence: head!.sequence, batch: head!.batch };
    };
    const texts = async (after: LogHead): Promise<readonly string[]> =>
      (await readAll(log, after)).map(({ parts }) => Buffer.from(parts[0]!.body).toString());

    it("gives the parts of one partition, and those of none, of every batch", async () => {
      const part = (partition: number, text: string): LogPart => ({ partition, body: Buffer.from(text) });
      const first = {
        id: randomUUID(),
        sequence: 2,
        parts: [part(EVERY_PARTITION, "head"), part(0, "a"), part(1, "b")],
      };
      const second = { id: randomUUID(), sequence: 3, parts: [part(EVERY_PARTITION, "head"), part(0, "c")] };
      await append(START, first, second);
      const read = await readAll(log, START, "c", 1);
      expect(read.map(({ id }) => id)).toEqual([first.id, second.id]);
      expect(read.map(({ parts }) => parts.map(({ body }) => Buffer.from(body).toString()))).toEqual([
        ["head", "b"],
        ["head"],
      ]);
      expect((await readAll(log, START)).map(({ parts }) => parts.length)).toEqual([3, 2]);
    });

    it("knows which batch a sequence number is of, also once that was trimmed", async () => {
      const batches = [batch(2, "one"), batch(3, "two"), batch(7, "three"), batch(9, "four")] as const;
      await append(START, ...batches);
      const known = async (): Promise<readonly (string | null)[]> =>
        Promise.all([0, 1, 2, 3, 5, 7, 9, 11].map((sequence) => log.batchAt("c", sequence)));
      const [one, two, three, four] = batches.map(({ id }) => id);
      const expected = [null, null, one, two, null, three, four, null];
      expect(await known()).toEqual(expected);
      await log.trim("c", { ...headAfter(EPOCH, batches.slice(0, 3)), place: "c/1", bytes: 1 });
      expect(await known()).toEqual(expected);
      expect(await log.batchAt("none", 2)).toBeNull();
    });

    it("has a collection from its creation on, once", async () => {
      expect(await log.heads(["none", "c"])).toEqual([null, { ...START, state: STATE, ...EMPTY }]);
      expect(await log.create("c", { epoch: "other", state: STATE })).toBe("exists");
      expect(await headOf()).toEqual(START);
      expect(await readAll(log, START)).toEqual([]);
    });

    it("appends on its head, and gives what came after any state", async () => {
      const batches = [batch(2, "one"), batch(3, "two"), batch(7, "three")];
      expect(await log.append("c", START, { batches: batches.slice(0, 2), state: Buffer.from("2") })).toBe(
        "done",
      );
      const between = headAfter(EPOCH, batches.slice(0, 2));
      expect(await headOf()).toEqual(between);
      expect(await append(between, batches[2]!)).toBe("done");
      expect(await readAll(log, START)).toEqual(batches);
      expect(await texts(headAfter(EPOCH, batches.slice(0, 1)))).toEqual(["two", "three"]);
      expect(await texts(await headOf())).toEqual([]);
      expect((await log.heads(["c"]))[0]!.state).toEqual(STATE);
    });

    it("keeps the parts of a batch in their order, large ones and empty ones", async () => {
      const bodies = [
        Buffer.alloc(0),
        Buffer.alloc(1_200_000, 0xab),
        Buffer.from("x"),
        Buffer.alloc(524_288, 1),
      ];
      const parts = bodies.map((body, i) => ({ partition: 2 - i, body }));
      const [large, small] = [{ id: randomUUID(), sequence: 1, parts }, batch(2)];
      expect(await append(START, large, small)).toBe("done");
      const found = await readAll(log, START);
      expect(found.map(({ id, sequence }) => [id, sequence])).toEqual([
        [large.id, 1],
        [small.id, 2],
      ]);
      expect(found[0]!.parts.map(({ partition }) => partition)).toEqual([2, 1, 0, -1]);
      expect(found[0]!.parts.every(({ body }, i) => bodies[i]!.equals(body))).toBe(true);
    });

    it.each<[string, (head: LogHead) => LogHead, AppendOutcome]>([
      ["an older sequence", () => START, "moved"],
      ["a newer sequence", (head) => ({ ...head, sequence: head.sequence + 1 }), "moved"],
      ["the same sequence of another batch", (head) => ({ ...head, batch: randomUUID() }), "moved"],
      ["another epoch", (head) => ({ ...head, epoch: "epoch-0" }), "gone"],
    ])("writes nothing on %s", async (_name, other, outcome) => {
      await append(START, batch(1));
      const head = await headOf();
      expect(await append(other(head), batch(head.sequence + 5))).toBe(outcome);
      expect(await headOf()).toEqual(head);
      expect(await texts(START)).toEqual(["1"]);
    });

    it("never has a batch twice, whatever it is planned on", async () => {
      const twice = batch(1);
      await append(START, twice);
      const head = await headOf();
      expect(await append(head, batch(2), { ...twice, sequence: 3 })).toBe("moved");
      expect(await headOf()).toEqual(head);
      expect(await log.find("c", twice.id)).toBe(1);
      expect(await log.find("c", randomUUID())).toBeNull();
    });

    it("lets one of several appends on the same head through", async () => {
      const outcomes = await Promise.all([1, 2, 3, 4].map((i) => append(START, batch(1, `${i}`))));
      expect(outcomes.toSorted()).toEqual(["done", "moved", "moved", "moved"]);
      expect(await texts(START)).toEqual([String(1 + outcomes.indexOf("done"))]);
    });

    it("takes all of several writers that plan again, each once and in one order", async () => {
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; i < 5; i++) {
          const id = randomUUID();
          for (let outcome = ""; outcome !== "done";) {
            const head = await headOf();
            outcome = await append(head, batch(head.sequence + 1, `${writer}:${i}`, id));
          }
        }
      };
      await Promise.all([0, 1, 2].map(write));
      const found = await readAll(log, START);
      expect(found.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
      const written = await texts(START);
      for (const writer of [0, 1, 2])
        expect(written.filter((text) => text.startsWith(`${writer}:`))).toEqual(
          [0, 1, 2, 3, 4].map((i) => `${writer}:${i}`),
        );
    });

    it("forgets whole batches, and says so to whoever needs them", async () => {
      const batches = [batch(2), batch(4), batch(6)];
      await append(START, ...batches);
      expect(await trim(batches[1]!)).toBe("done");
      expect(await log.read("c", START)).toBe("trimmed");
      expect(await log.read("c", headAfter(EPOCH, batches.slice(0, 1)))).toBe("trimmed");
      expect(await texts(headAfter(EPOCH, batches.slice(0, 2)))).toEqual(["6"]);
      expect(await log.find("c", batches[0]!.id)).toBe(2);
      expect(await append(await headOf(), { ...batches[0]!, sequence: 7 })).toBe("moved");
      expect(await trim(batches[0]!)).toBe("moved");
      expect(await trim({ ...batches[2]!, id: randomUUID() })).toBe("moved");
      expect(await trim(batches[2]!)).toBe("done");
      expect(await texts(await headOf())).toEqual([]);
      expect(await append(await headOf(), batch(9))).toBe("done");
    });

    it("gives nothing to a state that never was one of it", async () => {
      await append(START, batch(1), batch(2));
      const head = await headOf();
      for (const other of [{ batch: randomUUID() }, { sequence: 3 }, { epoch: "epoch-0" }])
        expect(await log.read("c", { ...head, ...other })).toBe("trimmed");
      expect(await log.read("none", START)).toBe("trimmed");
    });

    it("ends a read whose batches are trimmed under it", async () => {
      const batches = Array.from({ length: 200 }, (_, i) => batch(i + 1));
      await append(START, ...batches);
      const found = await log.read("c", START);
      if (found === "trimmed") throw new Error("trimmed");
      const reads = found[Symbol.asyncIterator]();
      expect((await reads.next()).value).toMatchObject({ sequence: 1 });
      await trim(batches[198]!);
      const rest = async (): Promise<void> => {
        while ((await reads.next()).done !== true);
      };
      await expect(rest()).rejects.toThrow(LogTrimmed);
    });

    it("gives no batch without its end where that is trimmed under a read", async () => {
      const parts = Array.from({ length: 60 }, (_, i) => ({ partition: 0, body: Buffer.from(`${i}`) }));
      const batches = [batch(1), { ...batch(2), parts }, batch(3)];
      await append(START, ...batches);
      const found = await log.read("c", START);
      if (found === "trimmed") throw new Error("trimmed");
      const read: LogBatch[] = [];
      const all = async (): Promise<void> => {
        for await (const each of found) {
          if (read.push(each) === 1) await trim(batches[1]!);
        }
      };
      await all().catch((error: unknown) => expect(error).toBeInstanceOf(LogTrimmed));
      for (const { sequence, parts: own } of read) expect(own).toHaveLength(sequence === 2 ? 60 : 1);
      expect(read[0]).toMatchObject({ sequence: 1 });
    });

    it("is full at its bound, until it is trimmed", async () => {
      const bounded = open(1_000);
      await bounded.create("c", { epoch: EPOCH, state: STATE });
      const first = batch(1, "x".repeat(900));
      expect(await bounded.append("c", START, { batches: [first], state: STATE })).toBe("done");
      const head = headAfter(EPOCH, [first]);
      const next = { batches: [batch(2, "x".repeat(101))], state: STATE };
      expect(await bounded.append("c", head, next)).toBe("full");
      expect(await bounded.append("c", START, next)).toBe("moved");
      const anyway = { batches: [batch(2, "x".repeat(101))], state: STATE, unbounded: true };
      expect(await bounded.append("c", head, anyway)).toBe("done");
      const newest = headAfter(EPOCH, anyway.batches);
      expect(await bounded.trim("c", { ...head, place: "c/1", bytes: 1 })).toBe("done");
      const third = { batches: [batch(3, "x".repeat(100))], state: STATE };
      expect(await bounded.append("c", newest, third)).toBe("done");
      expect((await bounded.heads(["c"]))[0]).toMatchObject({ bytes: 201, checkpointBytes: 1 });
      await bounded.close();
    });

    it("begins as a copy of another, which goes on by itself", async () => {
      const large = { ...batch(40), parts: [{ partition: 0, body: Buffer.alloc(1_200_000, 7) }] };
      const batches = [...Array.from({ length: 39 }, (_, i) => batch(i + 1)), large];
      await append(START, ...batches);
      const checkpoint = { ...headAfter(EPOCH, batches.slice(0, 2)), place: "c/1", bytes: 3 };
      await log.create(checkpoint.place, { epoch: CHECKPOINT_EPOCH, state: STATE });
      const first = { batches: [batch(1, "records")], state: STATE };
      await log.append(checkpoint.place, firstHead(CHECKPOINT_EPOCH), first);
      await log.trim("c", checkpoint);
      expect(await log.checkpoint("c")).toEqual(checkpoint);
      const to = { collection: "copy", epoch: "epoch-2" };
      expect(await log.copy("c", to)).toBe("done");
      const head = await headOf();
      await append(head, batch(41, "source"));
      const copied = { ...head, epoch: "epoch-2" };
      expect((await log.heads(["copy"]))[0]).toMatchObject({ ...copied, state: STATE, checkpointBytes: 3 });
      const theirs = (await log.checkpoint("copy"))!;
      expect(theirs).toEqual({ ...checkpoint, epoch: "epoch-2", place: theirs.place });
      expect(theirs.place).not.toBe(checkpoint.place);
      const after = { ...headAfter(EPOCH, batches.slice(0, 2)), epoch: "epoch-2" };
      expect(await readAll(log, after, "copy")).toEqual(batches.slice(2));
      expect(await log.find("copy", batches[0]!.id)).toBe(1);
      expect(await log.append("copy", copied, { batches: [batch(41, "copy")], state: STATE })).toBe("done");
      expect(await log.copy("c", to)).toBe("done");
      expect(await readAll(log, copied, "copy")).toHaveLength(1);
      await log.drop("c");
      expect(await readAll(log, after, "copy")).toHaveLength(39);
      expect(await log.heads([checkpoint.place])).toEqual([null]);
      const records = await readAll(log, firstHead(CHECKPOINT_EPOCH), theirs.place);
      expect(records.map(({ id }) => id)).toEqual(first.batches.map(({ id }) => id));
      await log.trim("copy", { ...copied, place: "copy/2", bytes: 1 });
      expect(await log.heads([theirs.place])).toEqual([null]);
      expect(await log.copy("c", { collection: "other", epoch: "epoch-3" })).toBe("gone");
      expect(await log.heads(["other"])).toEqual([null]);
    });

    it("counts what an owner keeps in all logs, and takes no more than they may keep", async () => {
      const quota = { owner: "o", most: { records: 3, bytes: 100 } };
      const heads = new Map<string, LogHead>();
      for (const id of ["one", "two"]) {
        await log.create(id, { epoch: EPOCH, state: STATE, owner: "o" });
        heads.set(id, START);
      }
      /** Appends until it is known whether the owner is counted, as a writer does that plans again. */
      const add = async (id: string, records: number, bytes: number): Promise<AppendOutcome> => {
        const from = heads.get(id)!;
        const batches = [batch(from.sequence + 1)];
        const one = { batches, state: STATE, usage: { records, bytes }, quota };
        let outcome = await log.append(id, from, one);
        if (outcome === "moved") outcome = await log.append(id, from, one);
        if (outcome === "done") heads.set(id, headAfter(EPOCH, batches));
        return outcome;
      };
      expect(await add("one", 2, 10)).toBe("done");
      expect(await add("two", 2, 10)).toBe("over");
      expect(await add("two", 1, 91)).toBe("over");
      expect(await add("two", 1, 20)).toBe("done");
      expect(await log.usageOf("o")).toEqual({ records: 3, bytes: 30 });
      expect(await log.copy("one", { collection: "three", epoch: "epoch-2", quota })).toBe("over");
      expect(await log.heads(["three"])).toEqual([null]);
      expect(await add("one", -2, -10)).toBe("done");
      expect(await log.copy("two", { collection: "three", epoch: "epoch-2", quota })).toBe("done");
      expect(await log.copy("two", { collection: "three", epoch: "epoch-2", quota })).toBe("done");
      expect(await log.usageOf("o")).toEqual({ records: 2, bytes: 40 });
      // What only shrinks always fits.
      quota.most = { records: 1, bytes: 1 };
      expect(await add("two", 0, -5)).toBe("done");
      await log.drop("three");
      await log.drop("three");
      expect(await log.usageOf("o")).toEqual({ records: 1, bytes: 15 });
      expect((await log.heads(["one", "two"])).map((head) => head?.usage)).toEqual([
        { records: 0, bytes: 0 },
        { records: 1, bytes: 15 },
      ]);
    });

    it("is gone once it was dropped, and others are not", async () => {
      await log.create("d", { epoch: EPOCH, state: STATE });
      await append(START, batch(1));
      await log.append("d", START, { batches: [batch(1)], state: STATE });
      const head = await headOf();
      await log.drop("c");
      await log.drop("c");
      expect(await append(head, batch(2))).toBe("gone");
      expect(await log.read("c", START)).toBe("trimmed");
      expect(await log.heads(["c"])).toEqual([null]);
      expect(await readAll(log, START, "d")).toHaveLength(1);
    });
  });
}
