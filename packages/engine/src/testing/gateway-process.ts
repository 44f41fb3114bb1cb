/** A gateway that writes one record, says so with a file, and then only waits to be killed. */
import { writeFileSync } from "node:fs";
import { parseCreateCollection } from "@sheaf/protocol";
import { createHostedEngine } from "../host/create-hosted-engine.ts";

const [dataFolder, sign] = process.argv.slice(2) as [string, string];
const at = { tenant: "default_tenant", database: "default_database" };

const engine = await createHostedEngine({ dataFolder });
const { id } = await engine.createCollection(parseCreateCollection({ name: "left-behind" }, at));
const record = { id: "a", embedding: Float32Array.of(1), document: null, uri: null, metadata: null };
await engine.write({ ...at, id }, { kind: "add", records: [record] });
writeFileSync(sign, String(engine.pid));
setInterval(() => {}, 60_000);
