/**
 * A module in a process of its own, that answers each message with one: for work that must not take the time of the
 * process that measures. The module calls `answerTasks`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

const SOURCE_ARGUMENTS = ["--conditions=@sheaf/source", "--import", "tsx"];

type Reply = { readonly result: unknown } | { readonly problem: string };

export class TaskProcess {
  readonly #child: ChildProcess;
  #answered: ((reply: Reply) => void) | null = null;

  constructor(module: URL) {
    this.#child = fork(module, [], { execArgv: SOURCE_ARGUMENTS });
    this.#child.on("message", (reply) => this.#answer(reply as Reply));
    // Comes after the last message, which "exit" need not.
    this.#child.on("disconnect", () => this.#answer({ problem: `${module.href} ended before it answered` }));
  }

  /** One at a time. */
  async ask<T>(task: object): Promise<T> {
    const reply = await new Promise<Reply>((resolve) => {
      this.#answered = resolve;
      this.#child.send(task);
    });
    if ("problem" in reply) throw new Error(reply.problem);
    return reply.result as T;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }

  #answer(reply: Reply): void {
    this.#answered?.(reply);
    this.#answered = null;
  }
}

/** For the module: answers every message with what `work` makes of it, until the parent is gone. */
export function answerTasks(work: (task: unknown) => unknown): void {
  const answer = async (task: unknown): Promise<Reply> => {
    try {
      return { result: await work(task) };
    } catch (error) {
      return { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on("message", (task) => {
    void answer(task).then((reply) => process.send?.(reply));
  });
  process.on("disconnect", () => process.exit(0));
}
