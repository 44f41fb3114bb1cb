import { createRequire } from "node:module";

/** Version of this package, which is one folder up from the sources as from the build. */
export const { version: VERSION } = createRequire(import.meta.url)("../package.json") as {
  readonly version: string;
};
