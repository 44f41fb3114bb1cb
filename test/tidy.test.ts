/** Holds what the conventions promise about the tree: package direction, sizes, names, where the environment is read. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
const MAX_PARAMETERS = 4;
/** Without tests, so that a folder can be read as a table of contents. */
const MAX_FOLDER_FILES = 25;
const BANNED_NAMES = /(?:^|[/.-])(?:utils?|helpers?|common|misc|types)\.(?:m?ts|mjs)$/u;

/** package -> packages it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  process: ["protocol"],
  engine: ["protocol", "process"],
  inference: ["protocol", "process", "model-minilm"],
  client: [],
  importers: [],
  server: ["protocol", "process", "engine", "inference", "client", "importers"],
};

/** The only places that may read the environment. `spawn.ts` hands it on unread. */
const MAY_READ_ENVIRONMENT = [
  "packages/server/src/config.ts",
  "packages/process/src/spawn.ts",
  "packages/server/bin/sheaf.mjs",
  // Secrets that its parent gives it, and that may be in no argument.
  "packages/engine/src/host/engine-host.ts",
];

const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(ROOT, path)));
const sources = tracked.filter(
  (path) => /\.(?:m?tsx?|mjs)$/u.test(path) && !path.endsWith(".d.ts") && !path.includes(".generated."),
);
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const isTest = (path: string): boolean =>
  /\.(?:test|suite)\.ts$/u.test(path) || path.startsWith("test/") || path.includes("/testing/");

describe("the tree", () => {
  it("has files to look at", () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  it("keeps packages in their direction", () => {
    const wrong = sources.flatMap((path) => {
      const owner = /^packages\/([^/]+)\/src\//u.exec(path)?.[1];
      if (owner === undefined || isTest(path)) return [];
      const imported = [...text(path).matchAll(/from "@sheaf\/([\w-]+)/gu)].map((match) => match[1] ?? "");
      return imported
        .filter((name) => !(MAY_IMPORT[owner] ?? []).includes(name))
        .map((name) => `${path} imports @sheaf/${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it("keeps the engine's layers in their direction: collection -> query -> index -> segment -> storage", () => {
    const layers = ["storage", "segment", "index", "query", "collection"];
    const wrong = sources.flatMap((path) => {
      const own = layers.indexOf(/^packages\/engine\/src\/([^/]+)\//u.exec(path)?.[1] ?? "");
      if (own < 0 || isTest(path)) return [];
      return layers
        .slice(own + 1)
        .filter((layer) => new RegExp(`from "(?:\\.\\./)+${layer}/`, "u").test(text(path)))
        .map((layer) => `${path} imports ${layer}`);
    });
    expect(wrong).toEqual([]);
  });

  it("keeps LMDB behind the stores", () => {
    const room = "packages/engine/src/storage/lmdb/";
    const engine = sources.filter((path) => path.startsWith("packages/engine/src/") && !isTest(path));
    const users = engine.filter((path) => /from "lmdb"/u.test(text(path)));
    expect(users.length).toBeGreaterThan(0);
    expect(users.filter((path) => !path.startsWith(room))).toEqual([]);
    const strangers = engine.filter((path) =>
      /^packages\/engine\/src\/(?:query|index|segment)\//u.test(path),
    );
    expect(strangers.filter((path) => /from "[./]+storage\/(?:lmdb|folder)\//u.test(text(path)))).toEqual([]);
  });

  it("keeps clients of PostgreSQL and of object stores in their rooms, and all SQL in two files", () => {
    const engine = sources.filter((path) => path.startsWith("packages/") && !isTest(path));
    const rooms = {
      "packages/engine/src/storage/postgres/": /from "(?:pg|pg-[\w-]+|postgres)"/u,
      "packages/engine/src/storage/objects/": /from "(?:aws4fetch|@aws-sdk\/[^"]+|@smithy\/[^"]+)"/u,
    };
    for (const [room, client] of Object.entries(rooms)) {
      const users = engine.filter((path) => client.test(text(path)));
      expect(users.length).toBeGreaterThan(0);
      expect(users.filter((path) => !path.startsWith(room))).toEqual([]);
    }
    const sql = /[`"](?:select|insert into|update|delete from|create (?:table|schema|index)|lock table) /u;
    const speakers = engine.filter((path) => sql.test(text(path)));
    const room = "packages/engine/src/storage/postgres/";
    expect(speakers).toEqual([`${room}migrations.ts`, `${room}statements.ts`]);
  });

  it("opens LMDB in few places, and hands on what the seams offer", () => {
    // These two read, check and copy files of a data folder, as they lie there.
    const ofFiles = /^packages\/engine\/src\/(?:storage\/lmdb|doctor|backup|export)\//u;
    const mayImport: Readonly<Record<string, readonly string[]>> = {
      "lmdb-catalog-store": ["catalog/open-catalog.ts"],
      "lmdb-record-store": [
        "collection/collection-opener.ts",
        "collection/logged/open-view.ts",
        "collection/store-mover.ts",
        "indexing/indexer-process.ts",
      ],
      "entry-space": ["collection/collection-opener.ts", "collection/store-mover.ts"],
      "shared-stores": [
        "collection/collection-opener.ts",
        "collection/collection-forker.ts",
        "collection/joining/share-joiner.ts",
        "collection/removal/delete-behind.ts",
        "collection/removal/share-purger.ts",
        "local-engine-options.ts",
        "local-engine.ts",
        "open-engine-parts.ts",
      ],
      "own-environment": [
        "collection/collection-opener.ts",
        "collection/logged/open-view.ts",
        "indexing/indexer-process.ts",
      ],
      // What a failed call of the system says, and nothing of LMDB.
      "commit-cause": ["collection/index-keeper.ts", "host/data-lock.ts", "storage/files/folder-files.ts"],
    };
    const wrong = sources
      .filter((path) => path.startsWith("packages/") && !isTest(path) && !ofFiles.test(path))
      .flatMap((path) => {
        const imported = [...text(path).matchAll(/from "[^"]*\blmdb\/([\w-]+)\.ts"/gu)].map(
          (match) => match[1] ?? "",
        );
        return imported
          .filter((name) => mayImport[name]?.includes(path.replace("packages/engine/src/", "")) !== true)
          .map((name) => `${path} imports ${name}`);
      });
    expect(wrong).toEqual([]);
  });

  it("keeps kinds of segments, and how they are made, out of the query stages", () => {
    const hidden =
      /from "(?:\.\.\/)+(?:segment\/(?:dense\/|mutable-|sealed-|.*-writer)|index\/(?:indexer|segment-list|merge-))/u;
    const queries = sources.filter((path) => path.startsWith("packages/engine/src/query/") && !isTest(path));
    expect(queries.filter((path) => hidden.test(text(path)))).toEqual([]);
  });

  it("keeps the server's folders in their direction", () => {
    const mayImport: Readonly<Record<string, readonly string[]>> = {
      request: [],
      auth: ["request"],
      metrics: ["request"],
      replies: ["request"],
      services: ["request", "auth", "metrics", "replies"],
      bodies: ["request"],
      http: ["request", "auth", "metrics", "bodies", "replies"],
      openapi: ["http"],
      routes: ["request", "auth", "services", "http", "openapi"],
    };
    const rooms = Object.keys(mayImport);
    const wrong = sources.flatMap((path) => {
      const own = /^packages\/server\/src\/([^/]+)\//u.exec(path)?.[1] ?? "";
      const allowed = mayImport[own];
      if (allowed === undefined || isTest(path)) return [];
      return rooms
        .filter((room) => room !== own && !allowed.includes(room))
        .filter((room) => new RegExp(`from "(?:\\.\\./)+${room}/`, "u").test(text(path)))
        .map((room) => `${path} imports ${room}`);
    });
    expect(wrong).toEqual([]);
  });

  it("lets the console know the client and nothing else of ours", () => {
    const wrong = sources.filter(
      (path) => path.startsWith("apps/console/src/") && /@sheaf\/(?!client")|packages\//u.test(text(path)),
    );
    expect(wrong).toEqual([]);
  });

  it("keeps files small and names guessable", () => {
    expect(sources.filter((path) => text(path).split("\n").length - 1 > MAX_FILE_LINES)).toEqual([]);
    expect(tracked.filter((path) => BANNED_NAMES.test(path))).toEqual([]);
    const odd = sources.filter((path) => !/^\.?[a-z0-9]+(?:[.-][a-z0-9]+)*$/u.test(basename(path)));
    expect(odd).toEqual([]);
  });

  it("keeps folders small", () => {
    const counts = new Map<string, number>();
    for (const path of sources.filter((source) => !isTest(source))) {
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    }
    const full = [...counts].filter(([, count]) => count > MAX_FOLDER_FILES);
    expect(full).toEqual([]);
  });

  it("keeps functions short", () => {
    const long = sources
      .filter((path) => path.startsWith("packages/") && !isTest(path))
      .flatMap(longFunctions);
    expect(long).toEqual([]);
  });

  it("reads the environment in one place", () => {
    const readers = sources.filter(
      (path) => path.startsWith("packages/") && !isTest(path) && text(path).includes("process.env"),
    );
    expect(readers.filter((path) => !MAY_READ_ENVIRONMENT.includes(path))).toEqual([]);
  });

  it("runs every test it has", () => {
    const skipped = /\b(?:it|test|describe)\.(?:skip|todo|only|skipIf|runIf)\b/u;
    const self = "test/tidy.test.ts";
    expect(sources.filter((path) => path !== self && isTest(path) && skipped.test(text(path)))).toEqual([]);
  });

  it("says `npx sheaf` only where it says in which folder, for the bare name on the registry is anyone's", () => {
    const folder = /install\.md|npm install @sheaf\/server|\bclone\b/u;
    const pages = tracked.filter((path) => path.endsWith(".md") && text(path).includes("npx sheaf"));
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.filter((path) => !folder.test(text(path)))).toEqual([]);
  });

  it("has only links that lead somewhere", () => {
    const pages = tracked.filter((path) => path.endsWith(".md"));
    const dead = pages.flatMap((path) =>
      [...text(path).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/gu)]
        .map((match) => match[1] ?? "")
        .filter((target) => !existsSync(join(ROOT, dirname(path), target)))
        .map((target) => `${path} -> ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it("has only links to headings that exist", () => {
    const pages = tracked.filter((path) => path.endsWith(".md"));
    const dead = pages.flatMap((path) =>
      [...text(path).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/gu)]
        .map(([, target = "", anchor = ""]) => ({
          page: target === "" ? path : join(dirname(path), target),
          anchor,
        }))
        .filter(({ page, anchor }) => page.endsWith(".md") && !anchorsOf(page).has(anchor))
        .map(({ page, anchor }) => `${path} -> ${page}#${anchor}`),
    );
    expect(dead).toEqual([]);
  });
});

/** As GitHub makes them of headings, save that no page here has a heading twice. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = text(page).matchAll(/^#{1,6} (.+)$/gmu);
  const words = [...headings].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, ""),
  );
  return new Set(words.map((each) => each.replaceAll(" ", "-")));
}

function longFunctions(path: string): string[] {
  const file = ts.createSourceFile(path, text(path), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const first = file.getLineAndCharacterOfPosition(node.getStart(file)).line;
      const last = file.getLineAndCharacterOfPosition(node.end).line;
      if (last - first + 1 > MAX_FUNCTION_LINES)
        found.push(`${path}:${first + 1} has ${last - first + 1} lines`);
      if (node.parameters.length > MAX_PARAMETERS) {
        found.push(`${path}:${first + 1} has ${node.parameters.length} parameters`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
