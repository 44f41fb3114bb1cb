/** A client process that does heavy work in the name of a tenant; `BusyClient` starts it and talks to it. */
import { heavyWork, keepBusy } from "./heavy-work.ts";
import { Tenant } from "./tenant.ts";

const [url = "", name = "", key = "", workName = ""] = process.argv.slice(2);
const work = heavyWork(workName, new Tenant({ url }, name, key));

await work.prepare();
process.send?.("ready");
process.once("message", (seconds) => {
  void keepBusy(work, Number(seconds)).then((counts) => {
    process.send?.(counts);
    process.disconnect();
  });
});
