/** Two projects: `unit` beside the sources, `e2e` against the built command. Both resolve packages to their sources. */
import { defineConfig } from "vitest/config";

const resolve = { conditions: ["@sheaf/source", "node", "import", "default"] };
const ssr = { resolve: { conditions: ["@sheaf/source", "node", "import", "default"] } };

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: "unit",
          include: [
            "packages/*/src/**/*.test.ts",
            "benchmarks/**/*.test.ts",
            "test/*.test.ts",
            "test/contract/**/*.test.ts",
          ],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "e2e",
          // Servers under test write as long as there is any room, whatever else is on the machine's disk.
          env: { SHEAF_DISK_RESERVE: String(32 * 1024 * 1024) },
          include: ["test/{damage,e2e,docs,compat,examples,fuzz,hostile,torture}/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
