/** The console in a real browser: a lane of its own, because it needs Chromium and the built server. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: { conditions: ["@sheaf/source", "node", "import", "default"] },
  ssr: { resolve: { conditions: ["@sheaf/source", "node", "import", "default"] } },
  test: {
    include: ["test/console/**/*.test.ts"],
    fileParallelism: false,
    env: { SHEAF_DISK_RESERVE: String(32 * 1024 * 1024) },
    // Tell slow from hung, also on a machine that does other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
