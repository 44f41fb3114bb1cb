/**
 * The console, for a person with a browser. It is public: it is an application without data, which asks the API for these
 * with the key that its user gives it. Paths are relative, so that it works behind a prefix.
 */
import { SheafError } from "@sheaf/protocol";
import { type Reply, type Route, ok } from "../../http/route.ts";
import type { ConsoleFile, ConsoleFiles } from "./console-files.ts";

const PUBLIC = { scope: "public", tenant: "none", method: "GET" } as const;
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Nothing from elsewhere, nothing inline, in no frame. Pictures are drawn by the page itself. */
const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
    "worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

export function consoleRoutes(files: ConsoleFiles): readonly Route[] {
  return [
    { ...PUBLIC, path: "/console", handle: () => toConsole(308, "console/") },
    {
      ...PUBLIC,
      path: "/console/",
      handle() {
        if (files.page === null)
          throw new SheafError("not_found", "the console was not built; `npm run build` makes it");
        return fileReply(files.page, "no-cache");
      },
    },
    {
      ...PUBLIC,
      path: "/console/assets/:file",
      handle({ params }) {
        const file = files.asset(params["file"] ?? "");
        if (file === null) throw new SheafError("not_found", "no such path");
        return fileReply(file, IMMUTABLE);
      },
    },
  ];
}

/** What a browser is told. */
export function toConsole(status: 302 | 308, location: string): Reply {
  return { status, body: "", headers: { ...CONSOLE_HEADERS, location } };
}

function fileReply({ text, mediaType }: ConsoleFile, cacheControl: string): Reply {
  return ok(text, { ...CONSOLE_HEADERS, "content-type": mediaType, "cache-control": cacheControl });
}
