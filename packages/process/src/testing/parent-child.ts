/** A child that is itself the parent of an echo child, so that a test can kill a parent without its consent. */
import { serveParent } from "../child.ts";
import { siblingModule } from "../spawn.ts";
import { ChildSupervisor } from "../supervisor.ts";

const grandchild = new ChildSupervisor({
  name: "echo child",
  module: siblingModule(import.meta.url, "./echo-child"),
});
await grandchild.start();

const server = serveParent(async () => grandchild.call("pid", []), {
  onUnexpected: (error) => {
    throw error;
  },
});
server.emit("ready", null);
