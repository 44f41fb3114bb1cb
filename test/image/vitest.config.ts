/** Builds and runs the image, and checks what is in deploy/: a lane of its own, which takes minutes and needs root. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: { conditions: ["@sheaf/source", "node", "import", "default"] },
  ssr: { resolve: { conditions: ["@sheaf/source", "node", "import", "default"] } },
  test: {
    include: ["test/image/**/*.test.ts"],
    fileParallelism: false,
    // Tell slow from hung, also on a machine that does other things.
    testTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 1_200_000,
  },
});
