/**
 * The browsable documentation: Swagger UI from the files that its package ships, in a page of our own. Nothing comes
 * from another host, and the page's policy would not let it.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface PageFile {
  readonly text: string;
  readonly mediaType: string;
}

const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

const require = createRequire(import.meta.url);

/** Files of the package that the page asks for -> media type. */
const PACKAGE_FILES: ReadonlyMap<string, string> = new Map([
  ["swagger-ui.css", CSS],
  ["swagger-ui-bundle.js", SCRIPT],
  ["swagger-ui-standalone-preset.js", SCRIPT],
]);

const START_FILE = "start.js";

/** Paths are relative, so that the page works behind a prefix. */
export const DOCUMENTATION_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Sheaf API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/swagger-ui-standalone-preset.js"></script>
    <script src="docs/${START_FILE}"></script>
  </body>
</html>
`;

const START = `window.ui = SwaggerUIBundle({
  dom_id: "#swagger-ui",
  urls: [
    { url: "openapi.json", name: "Sheaf" },
    { url: "embed/openapi.json", name: "Embedding" },
  ],
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: "StandaloneLayout",
  deepLinking: true,
  validatorUrl: null,
});
`;

/** Nothing from elsewhere and no inline script; Swagger UI sets styles of elements and draws icons from data URLs. */
export const DOCUMENTATION_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** A file beside the page; `null` for any other name. */
export async function documentationFile(name: string): Promise<PageFile | null> {
  if (name === START_FILE) return { text: START, mediaType: SCRIPT };
  const mediaType = PACKAGE_FILES.get(name);
  if (mediaType === undefined) return null;
  const manifest = require.resolve("@fastify/swagger-ui/package.json");
  return { text: await readFile(join(dirname(manifest), "static", name), "utf8"), mediaType };
}
