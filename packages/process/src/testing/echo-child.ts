/** A real child for the tests of this package: answers, fails, waits, hangs and dies on request. */
import { setTimeout as delay } from "node:timers/promises";
import { SheafError } from "@sheaf/protocol";
import { serveParent } from "../child.ts";

if (process.argv.includes("--dies-at-start")) process.exit(3);

let aborted = 0;

const server = serveParent(
  async (method, args, { signal }) => {
    switch (method) {
      case "echo":
        return args[0];
      case "pid":
        return process.pid;
      case "environment":
        return process.env[String(args[0])];
      case "refuse":
        throw new SheafError("rate_limited", "not now", { retryAfterSeconds: 7 });
      case "throw":
        throw new Error("a secret of the child");
      case "unsendable":
        return () => "a function cannot be cloned";
      case "wait":
        await new Promise<void>((resolve) => {
          const onAbort = (): void => {
            aborted += 1;
            resolve();
          };
          signal.addEventListener("abort", onAbort, { once: true });
        });
        return "aborted";
      case "aborted":
        return aborted;
      case "late":
        await delay(50);
        return "late";
      case "signal-self":
        process.kill(process.pid, "SIGTERM");
        process.kill(process.pid, "SIGINT");
        await delay(20);
        return "alive";
      case "hang":
        for (;;);
      case "exhaust-heap":
        for (const held: object[] = []; ;) held.push({ held });
      default:
        throw new Error(`no such method: ${method}`);
    }
  },
  { onUnexpected: (error) => server.emit("unexpected", String(error)) },
);

server.emit("ready", null);
