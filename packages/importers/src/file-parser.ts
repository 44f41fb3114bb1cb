/** Parses files in a process of its own, which is ended when a file takes too much memory or time, or brings it down. */
import type { ChildProcess } from "node:child_process";
import { askWithinLimits, startChild } from "./bounded-child.ts";
import type { FileKind } from "./file-kind.ts";
import { PARSER_LIMITS } from "./parser-limits.ts";

export interface ParsedFile {
  /** From the file itself, such as the title of a page. */
  readonly title: string | null;
  /** Text that belongs together: the whole of a file, a page of a PDF, a row, an element of a list. Some may be blank. */
  readonly parts: readonly string[];
}

type Answer = { readonly parsed: ParsedFile } | { readonly reason: string };

export class FileParser {
  #child: ChildProcess | null = null;
  #files = 0;

  /** What the file says, or why it says nothing. One at a time. */
  async parse(kind: FileKind, bytes: Uint8Array): Promise<ParsedFile | string> {
    if (this.#files >= PARSER_LIMITS.filesPerProcess) this.close();
    const child = (this.#child ??= startChild("parser-process", PARSER_LIMITS));
    this.#files += 1;
    const answer = (await askWithinLimits(child, { kind, bytes }, PARSER_LIMITS)) as Answer | string;
    if (typeof answer === "string") this.close();
    else if ("parsed" in answer) return answer.parsed;
    return typeof answer === "string" ? answer : answer.reason;
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    [this.#child, this.#files] = [null, 0];
  }
}
