/** A client process that does heavy work in the name of a tenant; `BusyClient` starts it and talks to it. */
import { heavyWorks, keepBusy } from "./heavy-work.ts";
import { Tenant } from "./tenant.ts";

const [url = "", name = "", key = "", workName = ""] = process.argv.slice(2);
const work = heavyWorks(new Tenant({ url }, name, key)).find((one) => one.name === workName);
if (work === undefined) throw new Error(`no work is called ${workName}`);

await work.prepare();
process.send?.("ready");
const end = new AbortController();
process.once("message", () => {
  process.once("message", () => end.abort());
  void keepBusy(work, end.signal).then((counts) => {
    process.send?.(counts);
    process.disconnect();
  });
});
