/** A child that is itself the parent of an echo child, so that a test can kill a parent without its consent. */
import { setTimeout as delay } from "node:timers/promises";
import { serveParent } from "../child.ts";
import { siblingModule } from "../spawn.ts";
import { ChildSupervisor } from "../supervisor.ts";

const grandchild = new ChildSupervisor({
  name: "echo child",
  module: siblingModule(import.meta.url, "./echo-child"),
});
await grandchild.start();

/** Never answered: the grandchild's main thread is stuck from then on. */
function hang(): void {
  grandchild.call("hang", []).catch((error: unknown) => server.emit("unexpected", String(error)));
}

const server = serveParent(
  async (method) => {
    const pid = await grandchild.call("pid", []);
    if (method === "hang-grandchild") {
      // The thread that watches for the parent needs the main thread while it starts.
      await delay(1_000);
      hang();
    }
    return pid;
  },
  {
    onUnexpected: (error) => {
      throw error;
    },
  },
);
server.emit("ready", null);
