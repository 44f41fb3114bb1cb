/** The Python packages that benchmarks measure beside Sheaf, in an environment of their own. */
import { fileURLToPath } from "node:url";
import { type PythonEnvironment, preparePythonEnvironment } from "../../scripts/python-environment.ts";

export function peerEnvironment(): PythonEnvironment {
  return preparePythonEnvironment({
    folder: fileURLToPath(new URL("../../node_modules/.cache/bench-python", import.meta.url)),
    requirements: fileURLToPath(new URL("requirements.txt", import.meta.url)),
  });
}
