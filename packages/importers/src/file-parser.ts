/** Parses files in a process of its own, which is ended when a file takes too much memory or time, or brings it down. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { FileKind } from "./file-kind.ts";
import { PARSER_LIMITS } from "./parser-limits.ts";

export interface ParsedFile {
  /** From the file itself, such as the title of a page. */
  readonly title: string | null;
  /** Text that belongs together: the whole of a file, a page of a PDF, a row, an element of a list. Some may be blank. */
  readonly parts: readonly string[];
}

type Answer = { readonly parsed: ParsedFile } | { readonly reason: string };

const HEAP_MB = 320;
const LOOK_EVERY_MS = 25;
const LOOK_EVERY_ELSEWHERE_MS = 500;
const STATM_PAGE_BYTES = 4096;
const isSource = import.meta.url.endsWith(".ts");

export class FileParser {
  #child: ChildProcess | null = null;
  #files = 0;

  /** What the file says, or why it says nothing. One at a time. */
  async parse(kind: FileKind, bytes: Uint8Array): Promise<ParsedFile | string> {
    if (this.#files >= PARSER_LIMITS.filesPerProcess) this.close();
    const child = (this.#child ??= startChild());
    this.#files += 1;
    const answer = await askWithinLimits(child, { kind, bytes });
    if (typeof answer === "string") this.close();
    else if ("parsed" in answer) return answer.parsed;
    return typeof answer === "string" ? answer : answer.reason;
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    [this.#child, this.#files] = [null, 0];
  }
}

function startChild(): ChildProcess {
  const module = new URL(isSource ? "parser-process.ts" : "parser-process.js", import.meta.url);
  const sources = ["--conditions=@sheaf/source", "--import", isSource ? import.meta.resolve("tsx") : ""];
  const child = fork(fileURLToPath(module), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`, ...(isSource ? sources : [])],
    // No keys, no proxies, no options of the parent.
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // Its end is told by `exit`.
  child.on("error", () => {});
  return child;
}

/** A text says why the child has to be ended, or has ended. */
async function askWithinLimits(child: ChildProcess, request: object): Promise<Answer | string> {
  const over = new AbortController();
  const { signal } = over;
  const end = (reason: string): void => over.abort(reason);
  const timer = setTimeout(() => end(`took over ${PARSER_LIMITS.seconds} s`), PARSER_LIMITS.seconds * 1_000);
  const watch = watchMemory(child, () => end(`took over ${PARSER_LIMITS.memoryBytes} bytes of memory`));
  const onExit = (): void => end("ended the process that parsed it, most likely for lack of memory");
  child.once("exit", onExit);
  try {
    const answer = once(child, "message", { signal });
    child.send(request, (error) => {
      if (error !== null) onExit();
    });
    const [message] = (await answer) as [Answer];
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

function watchMemory({ pid = 0 }: ChildProcess, tell: () => void): NodeJS.Timeout {
  const look = (bytes: number): void => {
    if (bytes > PARSER_LIMITS.memoryBytes) tell();
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
