/** A worker for the tests: replies with its data and something from another package's sources. */
import { parentPort, workerData } from "node:worker_threads";
import { invalid } from "@sheaf/protocol";

parentPort?.postMessage({ ...(workerData as object), status: invalid("a", "b").status }, []);
