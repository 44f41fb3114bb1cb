/** A process that reads what strangers made, and is ended when it takes too much memory or time, or brings itself down. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface ChildLimits {
  readonly memoryBytes: number;
  readonly heapMb: number;
  /** For one answer. */
  readonly seconds: number;
}

const LOOK_EVERY_MS = 25;
const LOOK_EVERY_ELSEWHERE_MS = 500;
const STATM_PAGE_BYTES = 4096;
const isSource = import.meta.url.endsWith(".ts");

/** @param module Beside this one, without its extension. */
export function startChild(module: string, { heapMb }: ChildLimits): ChildProcess {
  const url = new URL(`${module}.${isSource ? "ts" : "js"}`, import.meta.url);
  const sources = ["--conditions=@sheaf/source", "--import", isSource ? import.meta.resolve("tsx") : ""];
  const child = fork(fileURLToPath(url), {
    execArgv: [`--max-old-space-size=${heapMb}`, ...(isSource ? sources : [])],
    // No keys, no proxies, no options of the parent.
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // Its end is told by `exit`.
  child.on("error", () => {});
  return child;
}

/** The child's answer. A text says why the child has to be ended, or has ended. */
export async function askWithinLimits(
  child: ChildProcess,
  request: object,
  { seconds, memoryBytes }: ChildLimits,
): Promise<object | string> {
  const over = new AbortController();
  const { signal } = over;
  const end = (reason: string): void => over.abort(reason);
  const timer = setTimeout(() => end(`took over ${seconds} s`), seconds * 1_000);
  const watch = watchMemory(child, memoryBytes, () => end(`took over ${memoryBytes} bytes of memory`));
  const onExit = (): void => end("ended the process that parsed it, most likely for lack of memory");
  child.once("exit", onExit);
  try {
    const answer = once(child, "message", { signal });
    child.send(request, (error) => {
      if (error !== null) onExit();
    });
    const [message] = (await answer) as [object];
    return message;
  } catch (error) {
    if (signal.aborted) return String(signal.reason);
    throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    child.off("exit", onExit);
  }
}

function watchMemory({ pid = 0 }: ChildProcess, memoryBytes: number, tell: () => void): NodeJS.Timeout {
  const look = (bytes: number): void => {
    if (bytes > memoryBytes) tell();
  };
  if (process.platform !== "linux")
    return setInterval(() => {
      execFile("ps", ["-o", "rss=", "-p", String(pid)], (_, out) => look(Number(out) * 1_024));
    }, LOOK_EVERY_ELSEWHERE_MS);
  return setInterval(() => {
    void readFile(`/proc/${pid}/statm`, "utf8").then(
      (text) => look(Number(text.split(" ")[1]) * STATM_PAGE_BYTES),
      () => {},
    );
  }, LOOK_EVERY_MS);
}
