/** When a log gets a checkpoint that is not due for its size. */
import { expect, it, onTestFinished } from "vitest";
import { MemoryFiles } from "../files/memory-files.ts";
import { StoredRecords } from "./changed/record-source.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { CommitLog } from "./commit-log.ts";
import { LogCheckpoints, type LogCheckpointsOptions } from "./log-checkpoints.ts";
import { addOne, openLogged } from "./logged-record-store.suite.ts";
import { MemoryCommitLog } from "./memory-commit-log.ts";
import { MemoryView, recordFilesIn } from "./testing/memory-view.ts";

const LOOKS_MS = 10;

interface Written {
  readonly log: CommitLog;
  readonly checkpoints: LogCheckpoints;
  readonly write: (id: string) => Promise<void>;
}

/** @param before What each copy of the view waits for. */
async function open(
  more: Partial<LogCheckpointsOptions> = {},
  before: () => Promise<void> = async () => {},
): Promise<Written> {
  const { log = new MemoryCommitLog() } = more;
  const view = new MemoryView();
  const store = await openLogged(log);
  const checkpoints = new LogCheckpoints({
    ...{ id: "c", epoch: "epoch", log, files: recordFilesIn(new MemoryFiles()) },
    ...{ quietMs: LOOKS_MS, leastBytes: 1_000 },
    copy: () =>
      before().then(() => ({
        ...{ source: new StoredRecords(view), batch: view.batch },
        remove: () => Promise.resolve(),
      })),
    onProblem: (error) => expect.fail(String(error)),
    ...more,
  });
  onTestFinished(async () => {
    await checkpoints.close();
    await store.close();
  });
  const write = async (id: string): Promise<void> => {
    const change = await addOne(store, id);
    await view.follow(() => change, store.position.batch);
    checkpoints.consider((await log.heads(["c"]))[0]!);
  };
  return { log, checkpoints, write };
}

function someLooks(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10 * LOOKS_MS));
}

it("gets one in a file once nobody writes it any more", async () => {
  const { log, checkpoints, write } = await open();
  await write("one");
  await write("two");
  await expect.poll(() => log.checkpoint("c")).toMatchObject({ sequence: 2 });
  // What is left of the log is no matter.
  checkpoints.consider((await log.heads(["c"]))[0]!);
  await someLooks();
  expect(await log.checkpoint("c")).toMatchObject({ sequence: 2 });
});

it("gets one where the first attempt has failed", async () => {
  const problems: unknown[] = [];
  const files = recordFilesIn(new MemoryFiles());
  let isAway = true;
  const late: CheckpointFiles = {
    ...files,
    write: (...at) => (isAway ? Promise.reject(new Error("away")) : files.write(...at)),
  };
  const { log, write } = await open({
    files: late,
    pauseMs: 1,
    onProblem: (error) => void problems.push(error),
  });
  await write("one");
  await write("two");
  await expect.poll(() => problems).not.toHaveLength(0);
  isAway = false;
  await expect.poll(() => log.checkpoint("c")).toMatchObject({ sequence: 2 });
});

/** Checkpoints come into force once they may. */
class HeldLog extends MemoryCommitLog {
  readonly held: (() => void)[] = [];

  override async trim(...given: Parameters<CommitLog["trim"]>): ReturnType<CommitLog["trim"]> {
    await new Promise<void>((resolve) => this.held.push(resolve));
    return super.trim(...given);
  }
}

const IN_THE_LOG = { files: undefined, leastBytes: 1 };

it("gets another one that became due while one was written, although nobody writes it any more", async () => {
  const log = new HeldLog();
  const { write } = await open({ ...IN_THE_LOG, log });
  await write("one");
  await expect.poll(() => log.held).toHaveLength(1);
  for (const id of ["two", "three", "four"]) await write(id);
  log.held[0]!();
  await expect.poll(() => log.held).toHaveLength(2);
  log.held[1]!();
  await expect.poll(() => log.checkpoint("c")).toMatchObject({ sequence: 4 });
  await someLooks();
  expect(log.held).toHaveLength(2);
});

it("gets one that became due in the pause after a failure, although nobody writes it any more", async () => {
  const problems: unknown[] = [];
  let isAway = true;
  const onProblem = (error: unknown): void => void problems.push(error);
  const options = { ...IN_THE_LOG, pauseMs: 20 * LOOKS_MS, onProblem };
  const { log, write } = await open(options, async () => {
    if (isAway) throw new Error("away");
  });
  await write("one");
  await expect.poll(() => problems).toHaveLength(1);
  isAway = false;
  await write("two");
  await expect.poll(() => log.checkpoint("c")).toMatchObject({ sequence: 2 });
});

it("gets none from a server that leaves it to another one, nor from one that has closed it", async () => {
  const { log, write } = await open({ isLeft: () => true });
  const closed = await open();
  await closed.checkpoints.close();
  for (const id of ["one", "two"]) {
    await write(id);
    await closed.write(id);
  }
  await someLooks();
  expect(await log.checkpoint("c")).toBeNull();
  expect(await closed.log.checkpoint("c")).toBeNull();
});
