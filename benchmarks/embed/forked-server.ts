/** A server process under test: started, asked over HTTP, its process tree's CPU time read from outside, ended. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpuSeconds, residentMebibytes } from "../measure/process-tree.ts";
import { type GatewayReport, type Listening, REPORT_REQUEST } from "./gateway-messages.ts";

export const SOURCE_ARGUMENTS = ["--conditions=@sheaf/source", "--import", "tsx"];
/** The gateway of `gateway-process.ts`; its argument is `GatewayOptions` as JSON. */
export const GATEWAY = new URL("./gateway-process.ts", import.meta.url);
export const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

export class ForkedServer {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /** Waits until the module says where it listens. */
  static async start(
    module: URL,
    options: { readonly args?: readonly string[]; readonly execArgv?: readonly string[] } = {},
  ): Promise<ForkedServer> {
    const child = fork(module, options.args ?? [], { execArgv: [...(options.execArgv ?? SOURCE_ARGUMENTS)] });
    const exited = once(child, "exit").then(([code]) => {
      throw new Error(`${module.href} ended with exit code ${String(code)}`);
    });
    // After the start nobody waits for this any more.
    exited.catch(() => undefined);
    const [message] = (await Promise.race([once(child, "message"), exited])) as [Listening];
    return new ForkedServer(child, message.url);
  }

  /** Dense vectors of the texts; gives the tokens that the server counted. */
  async embed(texts: readonly string[], model = MODEL): Promise<number> {
    const response = await fetch(`${this.#url}/embed`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-service-embedding-model": model },
      body: JSON.stringify({ texts, instructions: "" }),
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${body}`);
    // Parsing megabytes of numbers would hold up this process, which measures latencies at the same time.
    return Number(/"num_tokens":(\d+)\}$/u.exec(body)?.[1] ?? Number.NaN);
  }

  /** Batches and loop delays since the last report; only of our own server. */
  async report(): Promise<GatewayReport> {
    const answer = once(this.#child, "message") as Promise<[GatewayReport]>;
    this.#child.send(REPORT_REQUEST);
    return (await answer)[0];
  }

  /** CPU seconds that the process and all below it have used so far. */
  cpuSeconds(): Promise<number> {
    return cpuSeconds(this.#child.pid ?? 0);
  }

  /** Resident memory of the process and all below it, MiB. */
  residentMebibytes(): Promise<number> {
    return residentMebibytes(this.#child.pid ?? 0);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
