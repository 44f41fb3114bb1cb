/** A client process that does heavy work, or attacks, in the name of a tenant; `BusyClient` starts it and talks to it. */
import { ATTACKS } from "./attacks.ts";
import { WORKS, keepBusy } from "./heavy-work.ts";
import { Tenant } from "./tenant.ts";

const [url = "", name = "", key = "", workName = ""] = process.argv.slice(2);
const work = (WORKS[workName] ?? ATTACKS[workName])?.(new Tenant({ url }, name, key));
if (work === undefined) throw new Error(`no work is called ${workName}`);

await work.prepare();
process.send?.("ready");
process.once("message", (seconds) => {
  void keepBusy(work, Number(seconds)).then((counts) => {
    process.send?.(counts);
    process.disconnect();
  });
});
