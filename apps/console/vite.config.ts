/** Builds the console into the server's package. Addresses are relative, so that it works behind any prefix. */
import { type Plugin, defineConfig } from "vite";

const PACKAGE = /node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/gu;

/** Folders of the packages of others whose code is in the build, whose licences go with it. */
const listPackages: Plugin = {
  name: "list-packages",
  generateBundle() {
    const folders = [...this.getModuleIds()].flatMap((id) => id.match(PACKAGE)?.at(-1) ?? []);
    const source = `${JSON.stringify([...new Set(folders)].sort(), null, 2)}\n`;
    this.emitFile({ type: "asset", fileName: "bundled-packages.json", source });
  },
};

/** Libraries mark what runs in browsers only, which is all of it here; how long plugins took is nobody's concern. */
const UNTOLD: ReadonlySet<string> = new Set(["MODULE_LEVEL_DIRECTIVE", "PLUGIN_TIMINGS"]);

export default defineConfig({
  plugins: [listPackages],
  root: import.meta.dirname,
  base: "./",
  resolve: { conditions: ["@sheaf/source", "module", "browser", "production"] },
  build: {
    outDir: "../../packages/server/console",
    emptyOutDir: true,
    target: "es2022",
    // Its script would be inline.
    modulePreload: { polyfill: false },
    // The page's policy takes nothing from data URLs but pictures.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // A test bounds what the first view loads.
    chunkSizeWarningLimit: Number.POSITIVE_INFINITY,
    rolldownOptions: {
      onLog(level, log, report) {
        if (!UNTOLD.has(log.code ?? "")) report(level, log);
      },
    },
  },
});
