import { describe, expect, it, onTestFinished } from "vitest";
import type { AppendOutcome, CommitLog, FoundHead, LogAppend, LogHead, LogSizes } from "./commit-log.ts";
import { HeadReader } from "./head-reader.ts";
import {
  type LoggedStoreSuite,
  addOne,
  idsIn,
  loggedStoreSuite,
  openLogged,
} from "./logged-record-store.suite.ts";
import type { LoggedRecordStore } from "./logged-record-store.ts";
import { MemoryCommitLog } from "./memory-commit-log.ts";
import { partitionViewSuite } from "./partition-view.suite.ts";

const onMemory: LoggedStoreSuite = {
  name: "log in memory",
  openLog: (maxBytes) => new MemoryCommitLog(maxBytes),
};

loggedStoreSuite(onMemory);
partitionViewSuite(onMemory);

/** What becomes of an append that is answered with "unknown". */
type Fate = "never" | "done" | "late";

/** Each second append is not answered. */
class ForgetfulLog extends MemoryCommitLog {
  fate: Fate = "done";
  #appends = 0;
  #late: (() => Promise<AppendOutcome>) | null = null;

  override async append(collection: string, from: LogHead, append: LogAppend): Promise<AppendOutcome> {
    const make = (): Promise<AppendOutcome> => super.append(collection, from, append);
    // The late one arrives just before the next.
    await this.#late?.();
    this.#late = null;
    if (++this.#appends % 2 === 0) return make();
    if (this.fate === "done") await make();
    if (this.fate === "late") this.#late = make;
    return "unknown";
  }
}

describe("an append that nobody knows the outcome of", () => {
  it.each<Fate>(["never", "done", "late"])("and that is %s made, is in the log once", async (fate) => {
    const log = new ForgetfulLog();
    log.fate = fate;
    const [one, two] = [await openLogged(log), await openLogged(log)];
    onTestFinished(async () => {
      await one.close();
      await two.close();
    });
    const ids = Array.from({ length: 9 }, (_, i) => `r${i}`);
    for (const [i, id] of ids.entries()) await addOne(i % 3 === 0 ? two : one, id);
    const together = ids.map((id) => `together ${id}`);
    await Promise.all(together.map((id, i) => addOne(i % 3 === 0 ? two : one, id)));
    for (const store of [one, two]) {
      await store.refresh();
      expect(idsIn(store).slice(0, ids.length)).toEqual(ids);
      expect(idsIn(store).slice(ids.length).toSorted()).toEqual(together);
      store.requireWhole(2 * ids.length);
    }
    expect([...one.scan(0)]).toEqual([...two.scan(0)]);
  });
});

/** The next append is made, and answered with "unknown" after something else has happened. */
class DistractedLog extends MemoryCommitLog {
  onMade: (() => Promise<void>) | null = null;
  isAway = false;

  override async append(...given: Parameters<CommitLog["append"]>): Promise<AppendOutcome> {
    const outcome = await super.append(...given);
    const { onMade } = this;
    this.onMade = null;
    if (onMade === null) return outcome;
    await onMade();
    return "unknown";
  }

  override async find(...given: Parameters<CommitLog["find"]>): Promise<number | null> {
    if (this.isAway) throw new Error("away");
    return super.find(...given);
  }
}

describe("what follows a store, where an append was made and not answered", () => {
  /** Who follows is told of what others wrote; of what is written here, its writer. */
  const openHeard = async (log: CommitLog): Promise<[LoggedRecordStore, string[]]> => {
    const [store, heard] = [await openLogged(log), [] as string[]];
    onTestFinished(() => store.close());
    store.follow({
      *before() {},
      after: async (change) => void heard.push(`other: ${change?.puts[0]?.id}`),
    });
    return [store, heard];
  };

  it("hears of it before what another has written after it", async () => {
    const log = new DistractedLog();
    const [one, heard] = await openHeard(log);
    const [two] = await openHeard(log);
    log.onMade = async () => {
      await two.refresh();
      await addOne(two, "b");
    };
    const own = ["a", "c"].map((id) => addOne(one, id).then(() => heard.push(`own: ${id}`)));
    await Promise.all([...own, own[0]!.then(() => one.refresh())]);
    expect(heard).toEqual(["own: a", "own: c", "other: b"]);
    expect(idsIn(one)).toEqual(["a", "c", "b"]);
  });

  it("hears of it once the database is back, where that was lost before the standby had it for certain", async () => {
    const log = new DistractedLog();
    const [one, heard] = await openHeard(log);
    log.onMade = async () => void (log.isAway = true);
    await expect(addOne(one, "a")).rejects.toThrow("may or may not have been made");
    await one.refresh();
    expect(heard).toEqual(["other: a"]);
    expect(idsIn(one)).toEqual(["a"]);
  });
});

describe("heads of logs", () => {
  it("are one request for all that is asked for while another is under way", async () => {
    const requests: (readonly string[])[] = [];
    const log: Pick<CommitLog, "heads"> = {
      heads: async (collections) => {
        requests.push(collections);
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (collections.includes("bad")) throw new Error("away");
        const rest = { state: Buffer.alloc(0), bytes: 0, checkpointBytes: 0, usage: null };
        return collections.map((id): (FoundHead & LogSizes) | null =>
          id === "none" ? null : { epoch: id, sequence: 1, batch: "", ...rest },
        );
      },
    };
    const reader = new HeadReader(log);
    const first = [reader.head("a"), reader.head("b")];
    await new Promise((resolve) => setTimeout(resolve, 1));
    const rest = [reader.head("a"), reader.head("none"), reader.head("a")];
    expect((await Promise.all([...first, ...rest])).map((head) => head?.epoch)).toEqual([
      "a",
      "b",
      "a",
      undefined,
      "a",
    ]);
    expect(requests).toEqual([
      ["a", "b"],
      ["a", "none"],
    ]);
    await expect(reader.head("bad")).rejects.toThrow("away");
    expect(await reader.head("none")).toBeNull();
  });
});
