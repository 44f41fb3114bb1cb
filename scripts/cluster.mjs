/** `npm run cluster`: install, build, then a database, an object store, nodes and gateways, for trying out. */
import { runWithServer } from "./install.mjs";

runWithServer("scripts/cluster/main.ts", []);
