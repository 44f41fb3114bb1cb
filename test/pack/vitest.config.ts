/** Installs what `npm run pack` makes: a lane of its own, because it packs, installs and starts real things. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  resolve: { conditions: ["@sheaf/source", "node", "import", "default"] },
  ssr: { resolve: { conditions: ["@sheaf/source", "node", "import", "default"] } },
  test: {
    include: ["test/pack/**/*.test.ts"],
    fileParallelism: false,
    // Tell slow from hung, also on a machine that does other things.
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
