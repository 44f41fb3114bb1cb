import { afterEach, describe, expect, it } from "vitest";
import { siblingModule, spawnWorker } from "./spawn.ts";
import { type ChildDeath, ChildSupervisor, type SupervisorOptions } from "./supervisor.ts";
import { isAlive, until } from "./testing/process-life.ts";

const ECHO_CHILD = siblingModule(import.meta.url, "./testing/echo-child");
const running: ChildSupervisor[] = [];

function supervise(options: Partial<SupervisorOptions> = {}): ChildSupervisor {
  const supervisor = new ChildSupervisor({ name: "echo child", module: ECHO_CHILD, ...options });
  running.push(supervisor);
  return supervisor;
}

/** Listens to a call at once, so that its rejection is never unhandled, and gives its error. */
function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => ({ answered: value }),
    (error: unknown) => error,
  );
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((supervisor) => supervisor.close()));
});

describe("ChildSupervisor", () => {
  it("hands calls through and keeps values exact", async () => {
    const supervisor = supervise();
    await supervisor.start();
    const value = {
      big: 2n ** 53n + 1n,
      zero: -0,
      floats: new Float32Array([0.1, -0]),
      map: new Map([[1n, "x"]]),
    };
    const copy = await supervisor.call("echo", [value]);
    expect(copy).toEqual(value);
    expect(Object.is((copy as typeof value).zero, -0)).toBe(true);
  });

  it("answers calls that it was told to expect, and those that it was not", async () => {
    const supervisor = supervise();
    supervisor.expectCall("any");
    await supervisor.start();
    for (let i = 0; i < 5; i++) {
      if (i !== 2) supervisor.expectCall("any");
      expect(await supervisor.call("echo", [i], { takesCores: i === 3 })).toBe(i);
    }
    supervisor.expectCall("any");
    expect(await Promise.all([supervisor.call("echo", ["a"]), supervisor.call("echo", ["b"])])).toEqual([
      "a",
      "b",
    ]);
  });

  it("gives the child its own environment and the parent's", async () => {
    const supervisor = supervise({ spawnOptions: () => ({ env: { SHEAF_TEST_VALUE: "from the parent" } }) });
    await supervisor.start();
    expect(await supervisor.call("environment", ["SHEAF_TEST_VALUE"])).toBe("from the parent");
    expect(await supervisor.call("environment", ["PATH"])).toBe(process.env["PATH"]);
  });

  it("carries the child's refusals with their code and hides everything else", async () => {
    const unexpected: unknown[] = [];
    const supervisor = supervise({
      onEvent: (name, value) => {
        if (name === "unexpected") unexpected.push(value);
      },
    });
    await supervisor.start();
    await expect(supervisor.call("refuse", [])).rejects.toMatchObject({
      code: "rate_limited",
      message: "not now",
      retryAfterSeconds: 7,
    });
    await expect(supervisor.call("throw", [])).rejects.toMatchObject({
      code: "internal",
      message: "internal error",
    });
    expect(unexpected).toEqual(["Error: a secret of the child"]);
  });

  it("answers a call whose result or argument cannot be sent", async () => {
    const supervisor = supervise();
    await supervisor.start();
    await expect(supervisor.call("unsendable", [])).rejects.toMatchObject({ code: "internal" });
    await expect(supervisor.call("echo", [() => 1])).rejects.toThrow("could not be cloned");
    expect(await supervisor.call("echo", ["still here"])).toBe("still here");
  });

  it("refuses at once with 503 before the start, and waits when asked to", async () => {
    const supervisor = supervise();
    await expect(supervisor.call("echo", [1])).rejects.toMatchObject({
      code: "unavailable",
      retryAfterSeconds: 1,
    });
    const answers = await Promise.all(
      [1, 2, 3].map((value) => supervisor.call("echo", [value], { wait: true })),
    );
    expect(answers).toEqual([1, 2, 3]);
  });

  it("answers the calls in flight of a killed child with 503 and starts another", async () => {
    const deaths: ChildDeath[] = [];
    const supervisor = supervise({ onDeath: (death) => deaths.push(death) });
    await supervisor.start();
    const first = await supervisor.call("pid", []);
    const waiting = [supervisor.call("wait", ["a"]), supervisor.call("wait", ["b"])];
    const refused = Promise.all(waiting.map(refusal));
    supervisor.kill();
    expect(await refused).toMatchObject([
      { code: "unavailable", retryAfterSeconds: 1 },
      { code: "unavailable", retryAfterSeconds: 1 },
    ]);
    expect(deaths).toEqual([
      {
        code: null,
        signal: "SIGKILL",
        inFlight: [
          { method: "wait", args: ["a"] },
          { method: "wait", args: ["b"] },
        ],
        stderr: "",
      },
    ]);
    await until(() => supervisor.ready);
    const second = await supervisor.call("pid", []);
    expect(second).not.toBe(first);
    expect(isAlive(first as number)).toBe(false);
  });

  it("kills a child that hangs in a loop", async () => {
    const supervisor = supervise();
    await supervisor.start();
    const hung = refusal(supervisor.call("hang", []));
    supervisor.kill();
    expect(await hung).toMatchObject({ code: "unavailable" });
    expect(await supervisor.call("echo", ["again"], { wait: true })).toBe("again");
  });

  it("finds out that a child hangs, and starts another", async () => {
    let hangs = 0;
    const supervisor = supervise({ hangAfterMs: 2_000, onHang: () => (hangs += 1) });
    await supervisor.start();
    expect(await refusal(supervisor.call("hang", []))).toMatchObject({ code: "unavailable" });
    await until(() => supervisor.ready);
    expect(await supervisor.call("echo", ["again"])).toBe("again");
    expect(hangs).toBe(1);
  });

  it("calls a child that is stopped unresponsive, and one that goes on responsive again", async () => {
    const supervisor = supervise({ hangAfterMs: 600_000 });
    await supervisor.start();
    expect(supervisor.responsive).toBe(true);
    process.kill(supervisor.pid ?? Number.NaN, "SIGSTOP");
    await until(() => !supervisor.responsive);
    process.kill(supervisor.pid ?? Number.NaN, "SIGCONT");
    await until(() => supervisor.responsive);
    expect(supervisor.ready).toBe(true);
  });

  it("tells the end of what a child wrote to stderr that ran out of heap", async () => {
    const deaths: ChildDeath[] = [];
    const nodeArgs = ["--max-old-space-size=24"];
    const supervisor = supervise({
      spawnOptions: () => ({ nodeArgs, stderr: "pipe" }),
      onDeath: (death) => deaths.push(death),
      restart: false,
    });
    await supervisor.start();
    expect(await refusal(supervisor.call("exhaust-heap", []))).toMatchObject({ code: "unavailable" });
    expect(deaths).toMatchObject([
      { signal: "SIGABRT", stderr: expect.stringContaining("JavaScript heap out of memory") },
    ]);
  });

  it("keeps trying while the child dies at its start", async () => {
    let starts = 0;
    const supervisor = supervise({
      spawnOptions: () => {
        starts += 1;
        return starts <= 2 ? { args: ["--dies-at-start"] } : {};
      },
    });
    await expect(supervisor.start()).rejects.toMatchObject({ code: "unavailable" });
    await until(() => supervisor.ready);
    expect(starts).toBe(3);
  });

  it("stays down without restart until it is started again", async () => {
    const deaths: ChildDeath[] = [];
    const supervisor = supervise({ restart: false, onDeath: (death) => deaths.push(death) });
    await supervisor.start();
    supervisor.kill();
    await until(() => deaths.length === 1);
    await expect(supervisor.call("echo", [1])).rejects.toMatchObject({ code: "unavailable" });
    await supervisor.start();
    expect(await supervisor.call("echo", [1])).toBe(1);
  });

  it("cancels an aborted call in the child and forgets its reply", async () => {
    const supervisor = supervise();
    await supervisor.start();
    const controller = new AbortController();
    const refused = refusal(supervisor.call("wait", [], { signal: controller.signal }));
    controller.abort();
    expect(await refused).toMatchObject({ code: "cancelled" });
    expect(await supervisor.call("aborted", [])).toBe(1);
    await expect(supervisor.call("echo", [1], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  it("keeps the child alive through signals meant for the group", async () => {
    const supervisor = supervise();
    await supervisor.start();
    expect(await supervisor.call("signal-self", [])).toBe("alive");
  });

  it("leaves no process after close, and refuses from then on", async () => {
    const supervisor = supervise();
    await supervisor.start();
    const pid = (await supervisor.call("pid", [])) as number;
    const inFlight = refusal(supervisor.call("wait", []));
    await Promise.all([supervisor.close(), supervisor.close()]);
    expect(await inFlight).toMatchObject({ code: "unavailable" });
    expect(isAlive(pid)).toBe(false);
    await expect(supervisor.start()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("ends a hung child on close too", async () => {
    const supervisor = supervise();
    await supervisor.start();
    const pid = supervisor.pid as number;
    const hung = refusal(supervisor.call("hang", []));
    await supervisor.close();
    expect(await hung).toMatchObject({ code: "unavailable" });
    expect(isAlive(pid)).toBe(false);
  });

  it("closes while the child is still starting", async () => {
    const supervisor = supervise();
    const started = refusal(supervisor.start());
    const pid = supervisor.pid as number;
    await supervisor.close();
    expect(await started).toMatchObject({ code: "unavailable" });
    expect(isAlive(pid)).toBe(false);
  });

  it.each(["grandchild", "hang-grandchild"])(
    "leaves no child behind a parent that was killed: %s",
    async (method) => {
      const parent = supervise({
        module: siblingModule(import.meta.url, "./testing/parent-child"),
        restart: false,
      });
      await parent.start();
      const grandchild = (await parent.call(method, [])) as number;
      expect(isAlive(grandchild)).toBe(true);
      parent.kill();
      await until(() => !isAlive(grandchild));
      expect(isAlive(grandchild)).toBe(false);
    },
  );
});

describe("spawnWorker", () => {
  it("starts a worker from sources that imports other packages", async () => {
    const worker = spawnWorker(siblingModule(import.meta.url, "./testing/echo-worker"), {
      greeting: "hello",
    });
    const reply = await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    expect(reply).toEqual({ greeting: "hello", status: 400 });
    await worker.terminate();
  });
});
