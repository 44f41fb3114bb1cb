/**
 * ONNX Runtime for Node, from the package of this platform where there is one, else from `onnxruntime-node`. Installations
 * have the former: the files of the latter for one platform, without an install script, which downloads CUDA libraries
 * (decision 35). Clones have the latter, and so may platforms that no package is made for.
 */
import { createRequire } from "node:module";
import type * as Runtime from "onnxruntime-node";

const require = createRequire(import.meta.url);

export const { InferenceSession, Tensor } = load();
export type InferenceSession = Runtime.InferenceSession;

function load(): typeof Runtime {
  const { platform, arch } = process;
  const names = [`@sheaf/onnxruntime-${platform}-${arch}`, "onnxruntime-node"];
  const found = names.find(isInstalled);
  if (found === undefined)
    throw new Error(`ONNX Runtime is not installed for ${platform} ${arch}: none of ${names.join(", ")}`);
  return require(found) as typeof Runtime;
}

/** A package that is there and cannot be loaded is a fault to report, and nothing to look further for. */
function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
