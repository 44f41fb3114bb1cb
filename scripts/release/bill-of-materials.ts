/** What a server is made of, in CycloneDX: of what npm says of the lockfile, the part that the server depends on. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const MOST_BYTES = 64 * 1024 * 1024;
const SERVER = "@sheaf/server";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component; readonly [field: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [field: string]: unknown;
}

/**
 * JSON. ONNX Runtime is in it under upstream's name, whose files our packages hold. Throws where anything is missing
 * whose code is in the bundle of the server.
 *
 * @param root Of a clone that has been built.
 */
export function billOfMaterials(root: string): string {
  const text = execFileSync("npm", ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: MOST_BYTES,
  });
  const bom = JSON.parse(text) as Bom;
  const server = bom.components.find((each) => each["bom-ref"].startsWith(`${SERVER}@`));
  if (bom.bomFormat !== "CycloneDX" || server === undefined)
    throw new Error(`npm sbom knows nothing of ${SERVER}`);
  const reached = reachedFrom(server["bom-ref"], bom);
  const components = bom.components
    .filter((each) => each !== server && reached.has(each["bom-ref"]))
    .map(withPackageName);
  const names = new Set(components.map(({ name }) => name));
  const missing = bundledNames(root).filter((name) => !names.has(name));
  if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(", ")}`);
  const own = {
    ...bom,
    metadata: { ...bom.metadata, component: { ...withPackageName(server), type: "application" } },
    components,
    dependencies: bom.dependencies.filter(({ ref }) => reached.has(ref)),
  };
  return `${JSON.stringify(own, null, 2)}\n`;
}

function reachedFrom(start: string, { dependencies }: Bom): ReadonlySet<string> {
  const of = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([start]);
  // A set gives what is added while it is gone through.
  for (const ref of reached) for (const next of of.get(ref) ?? []) reached.add(next);
  return reached;
}

/** npm names the packages of a workspace by their folders. */
function withPackageName(component: Component): Component {
  return { ...component, name: component["bom-ref"].slice(0, component["bom-ref"].lastIndexOf("@")) };
}

function bundledNames(root: string): readonly string[] {
  const folders = JSON.parse(
    readFileSync(join(root, "packages/server/bundle/bundled-packages.json"), "utf8"),
  ) as readonly string[];
  return folders.map((folder) => folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length));
}
