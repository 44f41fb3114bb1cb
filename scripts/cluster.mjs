/** `npm run cluster`: install, build, then PostgreSQL and three servers on it, for trying out. */
import { runWithServer } from "./install.mjs";

runWithServer("scripts/cluster/main.ts", []);
