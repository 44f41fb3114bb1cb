/**
 * Keeps one child alive: starts it, hands calls through, starts it again when it dies, and ends it on `close`.
 * A call that finds no ready child is refused at once (503, Retry-After) unless it asks to wait.
 */
import type { ChildProcess } from "node:child_process";
import { SheafError } from "@sheaf/protocol";
import { Channel } from "./channel.ts";
import { HangWatch } from "./hang-watch.ts";
import { type CallOptions, type InFlightCall, RpcClient } from "./rpc.ts";
import { type SpawnOptions, childSocket, spawnProcess } from "./spawn.ts";
import { StderrTail } from "./stderr-tail.ts";

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;
/** A child that lived this long has recovered: the next death starts from the first backoff again. */
const HEALTHY_AFTER_MS = 10_000;
/** Between two looks at a child that is watched: one that does not answer is known as such within four of them. */
const LOOK_MS = 2_000;
const LEAST_LOOKS = 10;
/** Short: it comes after the 8 s that a stopping server waits, and all has to end within 10. */
const CLOSE_GRACE_MS = 1_000;

export interface ChildDeath {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly inFlight: readonly InFlightCall[];
  /** The end of what it wrote to stderr; empty unless that is piped. */
  readonly stderr: string;
}

export interface SupervisorOptions {
  /** For messages: `engine host`, `model replica of X`. */
  readonly name: string;
  readonly module: URL;
  /** Asked before every start, so that a restart can carry what was learnt from a death. */
  readonly spawnOptions?: () => SpawnOptions;
  readonly onEvent?: (name: string, value: unknown) => void;
  /** Hears the result of a call that was cancelled after the child had answered it. */
  readonly onUnclaimed?: (value: unknown) => void;
  /** As `RpcClientHooks` has it. */
  readonly beforeSign?: () => Promise<unknown> | undefined;
  /** Called for every unexpected death, before the restart. */
  readonly onDeath?: (death: ChildDeath) => void;
  /** `false`: stay down after a death until `start` is called again. */
  readonly restart?: boolean;
  /** A ready child whose event loop does not turn for so long is killed. By default nobody looks. */
  readonly hangAfterMs?: number;
  /** Called before it is. */
  readonly onHang?: () => void;
}

export class ChildSupervisor {
  readonly #options: SupervisorOptions;
  #child: ChildProcess | null = null;
  #client: RpcClient | null = null;
  #ready: Promise<void> | null = null;
  #isReady = false;
  #closed = false;
  #backoffMs = FIRST_BACKOFF_MS;
  #restartTimer: NodeJS.Timeout | null = null;
  #watchTimer: NodeJS.Timeout | undefined;
  #watch: HangWatch | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get ready(): boolean {
    return this.#isReady;
  }

  /** Ready, and its event loop turns as far as is known; of a child that nobody watches nothing is. */
  get responsive(): boolean {
    return this.#isReady && this.#watch?.responsive !== false;
  }

  /** Resolves when the child has emitted `ready`; rejects if it dies before. */
  start(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#unavailable());
    this.#ready ??= this.#spawn();
    return this.#ready;
  }

  call(
    method: string,
    args: readonly unknown[],
    options: CallOptions & { readonly wait?: boolean } = {},
  ): Promise<unknown> {
    if (this.#isReady && this.#client !== null) return this.#client.call(method, args, options);
    if (options.wait !== true) return Promise.reject(this.#unavailable());
    return this.start().then(() => this.call(method, args, { ...options, wait: false }));
  }

  /** As `RpcClient.expectCall`, where there is a child. */
  expectCall(kind: string): void {
    if (this.#isReady) this.#client?.expectCall(kind);
  }

  /** SIGKILL: for a child that hangs. It is started again unless `restart` is off. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  /** Closes the socket, on which the child leaves by itself; SIGKILL after a grace period. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const child = this.#child;
    if (child?.pid === undefined) return;
    // Gone, though its pipes may not be closed yet.
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const timer = setTimeout(() => child.kill("SIGKILL"), CLOSE_GRACE_MS);
    childSocket(child).end();
    await exited;
    clearTimeout(timer);
  }

  #spawn(): Promise<void> {
    const child = spawnProcess(this.#options.module, this.#options.spawnOptions?.());
    const startedAt = performance.now();
    const tail = child.stderr === null ? null : new StderrTail(child.stderr);
    this.#child = child;
    return new Promise((resolve, reject) => {
      // Without a process id the system refused to start it, and the error event follows.
      const client = child.pid === undefined ? null : this.#connect(child, resolve);
      this.#client = client;
      const onGone = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.#child = null;
        this.#client = null;
        this.#isReady = false;
        this.#ready = null;
        clearInterval(this.#watchTimer);
        const inFlight = client?.inFlight ?? [];
        client?.rejectAll();
        reject(this.#unavailable());
        const death = { code, signal, inFlight, stderr: tail?.text ?? "" };
        if (!this.#closed) this.#recover(death, performance.now() - startedAt);
      };
      // Not `exit`: what a child said last is read first.
      child.once("close", onGone);
      child.once("error", () => {
        if (child.pid === undefined) onGone(null, null);
      });
    });
  }

  #connect(child: ChildProcess, onReady: () => void): RpcClient {
    const channel = new Channel(childSocket(child));
    const client: RpcClient = new RpcClient(channel, {
      closedError: () => this.#unavailable(),
      onUnclaimed: this.#options.onUnclaimed,
      beforeSign: this.#options.beforeSign,
      onEvent: (name, value) => {
        // The socket may deliver a dead child's last frames after its exit, or its first ones after a close.
        if (this.#client !== client || this.#closed) return;
        if (name === "ready") {
          this.#isReady = true;
          this.#watchOver(client);
          onReady();
        }
        this.#options.onEvent?.(name, value);
      },
    });
    channel.onClose(() => {
      if (this.#client === client) this.#isReady = false;
      // A child without its socket can serve nobody, so it must not stay.
      if (!this.#closed) child.kill("SIGKILL");
    });
    return client;
  }

  #watchOver(client: RpcClient): void {
    const { hangAfterMs, onHang } = this.#options;
    if (hangAfterMs === undefined) return;
    const everyMs = Math.min(LOOK_MS, hangAfterMs / LEAST_LOOKS);
    const watch = new HangWatch(client, Math.round(hangAfterMs / everyMs));
    this.#watch = watch;
    const look = (): void => {
      if (!watch.look()) return;
      clearInterval(this.#watchTimer);
      onHang?.();
      this.kill();
    };
    this.#watchTimer = setInterval(look, everyMs).unref();
  }

  #recover(death: ChildDeath, livedMs: number): void {
    this.#options.onDeath?.(death);
    if (this.#options.restart === false) return;
    if (livedMs > HEALTHY_AFTER_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    this.#restartTimer = setTimeout(() => {
      // A failed start comes back here through its own exit.
      this.start().catch(() => {});
    }, this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }

  #unavailable(): SheafError {
    const state = this.#closed ? "is shutting down" : "is restarting; try again";
    return new SheafError("unavailable", `the ${this.#options.name} ${state}`, { retryAfterSeconds: 1 });
  }
}
