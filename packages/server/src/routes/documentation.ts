/** The API description and the page to browse it with. They are public: they say what a server takes, not what it holds. */
import { SheafError } from "@sheaf/protocol";
import { type Reply, type Route, ok } from "../http/route.ts";
import { openApiDocument } from "../openapi/document.ts";
import type { ConsoleFiles } from "./console/console-files.ts";
import { toConsole } from "./console/console.ts";
import { FRONT_PAGE, asksForHtml } from "../openapi/front-page.ts";
import { DOCUMENTATION_HEADERS, DOCUMENTATION_PAGE, documentationFile } from "../openapi/swagger-ui.ts";
import { VERSION } from "../version.ts";
import { SYSTEM as described } from "./system-descriptions.ts";

const PUBLIC = { scope: "public", tenant: "none", method: "GET" } as const;
const FILE_CACHE = "public, max-age=3600";

/** @param routes All other routes; the documents are made from them and from these, once. */
export function documentationRoutes(routes: readonly Route[], files: ConsoleFiles): readonly Route[] {
  const own: readonly Route[] = [
    { ...PUBLIC, path: "/openapi.json", description: described.document, handle: () => ok(main()) },
    {
      ...PUBLIC,
      path: "/embed/openapi.json",
      description: described.embedDocument,
      handle: () => ok(embed()),
    },
    ...pageRoutes(files),
  ];
  const all = [...routes, ...own];
  const main = made(() => JSON.stringify(openApiDocument("v2", all)));
  const embed = made(() => JSON.stringify(openApiDocument("embed", all)));
  return own;
}

/** Made when it is asked for first, not as the server starts. */
function made(make: () => string): () => string {
  let text: string | null = null;
  return () => (text ??= make());
}

/** What others than browsers are told of `GET /`. */
const FRONT_JSON: Reply = ok(
  JSON.stringify({ name: "sheaf", version: VERSION, docs: "/docs", ready: "/readyz" }),
  { vary: "accept" },
);

function pageRoutes(files: ConsoleFiles): readonly Route[] {
  const page = { ...DOCUMENTATION_HEADERS, "content-type": "text/html; charset=utf-8" };
  return [
    {
      ...PUBLIC,
      path: "/",
      surface: "embed",
      handle(call) {
        if (!asksForHtml(call.header("accept"))) return FRONT_JSON;
        const { headers, ...reply } = files.page === null ? ok(FRONT_PAGE, page) : toConsole(302, "console/");
        return { ...reply, headers: { ...headers, vary: "accept" } };
      },
    },
    { ...PUBLIC, path: "/docs", handle: () => ok(DOCUMENTATION_PAGE, page) },
    {
      ...PUBLIC,
      path: "/docs/",
      handle: () => ({ status: 308, body: "", headers: { location: "../docs" } }),
    },
    {
      ...PUBLIC,
      path: "/docs/:file",
      async handle({ params }) {
        const file = await documentationFile(params["file"] ?? "");
        if (file === null) throw new SheafError("not_found", "no such path");
        const { text, mediaType } = file;
        return ok(text, { ...DOCUMENTATION_HEADERS, "content-type": mediaType, "cache-control": FILE_CACHE });
      },
    },
  ];
}
