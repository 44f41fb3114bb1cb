import { createEmbedder } from "@sheaf/inference";
import { describe, expect, it } from "vitest";
import { allRoutes } from "../app.ts";
import { Lifecycle } from "../lifecycle.ts";
import { type OpenApiDocument, openApiDocument } from "./document.ts";
import { BODY_PARSERS } from "./testing/body-parsers.ts";
import { violation } from "./testing/schema-validator.ts";

const embedder = createEmbedder({ replicas: 1 });
const routes = allRoutes({
  engine: () => {
    throw new Error("no route is asked anything here");
  },
  embedder,
  keys: null,
  lifecycle: new Lifecycle(),
  allowReset: false,
});
const documents = { v2: openApiDocument("v2", routes), embed: openApiDocument("embed", routes) };
const both = Object.values(documents);

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: { readonly enum?: readonly string[] };
}

interface Described {
  readonly path: string;
  readonly method: string;
  readonly operation: {
    readonly operationId: string;
    readonly summary: string;
    readonly tags: readonly string[];
    readonly security: readonly object[];
    readonly parameters?: readonly Parameter[];
    readonly requestBody?: {
      readonly content: Readonly<Record<string, { readonly schema: { $ref: string } }>>;
    };
    readonly responses: Readonly<Record<string, { readonly description: string }>>;
  };
}

function operations(document: OpenApiDocument): readonly Described[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      path,
      method,
      operation: operation as object as Described["operation"],
    })),
  );
}

/** Every value under a key of this name, however deep. */
function valuesOf(part: unknown, key: string): unknown[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => [
    ...(name === key ? [value] : []),
    ...valuesOf(value, key),
  ]);
}

describe("the documents", () => {
  it("name their versions", () => {
    expect(documents.v2).toMatchObject({ openapi: "3.1.0", info: { version: "1.0.0" } });
    expect(documents.embed).toMatchObject({ openapi: "3.1.0", info: { version: "0.1.0" } });
  });

  it("hold every route once, but for those that nobody should build on", () => {
    const described = both.flatMap((document) =>
      operations(document).map(({ path, method }) => `${method.toUpperCase()} ${path}`),
    );
    expect(new Set(described).size).toBe(described.length);
    const all = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/gu, "{$1}")}`);
    expect(described.filter((name) => !all.includes(name))).toEqual([]);
    const hidden = all.filter((name) => !described.includes(name) && !name.includes(" /api/v1"));
    const pages = ["/console", "/console/", "/console/assets/{file}", "/docs", "/docs/", "/docs/{file}"];
    expect(hidden.sort()).toEqual(["GET /", ...pages.map((page) => `GET ${page}`), "POST /"]);
  });

  it("keep the embedding interface apart", () => {
    expect(Object.keys(documents.embed.paths)).toEqual(["/embed", "/embed_sparse"]);
    expect(Object.keys(documents.v2.paths).filter((path) => /^\/embed(?:_|$)/u.test(path))).toEqual([]);
  });

  it("offer the models that the server knows", () => {
    const known = embedder.models().map(({ identifier }) => identifier);
    for (const { operation } of operations(documents.embed)) {
      const header = operation.parameters?.find(({ name }) => name === "x-service-embedding-model");
      expect([...(header?.schema.enum ?? [])].sort()).toEqual([...known].sort());
    }
  });

  it("declare the statuses of the embedding interface, and no 413 for the sparse endpoint", () => {
    const [dense, sparse] = operations(documents.embed).map(({ operation }) =>
      Object.keys(operation.responses),
    );
    expect(dense).toEqual(expect.arrayContaining(["200", "400", "401", "413", "429", "501"]));
    expect(sparse).toEqual(expect.arrayContaining(["200", "400", "401", "429", "501"]));
    expect(sparse).not.toContain("413");
    expect([dense, sparse].flat()).not.toContain("422");
  });
});

describe("every operation", () => {
  const described = both.flatMap(operations);

  it("has a name of its own", () => {
    const names = described.map(({ operation }) => operation.operationId);
    expect(names.filter((name, position) => names.indexOf(name) !== position)).toEqual([]);
    expect(names.filter((name) => !/^[a-z][a-z0-9_]*$/u.test(name))).toEqual([]);
  });

  it("declares the parameters of its path, each with a description", () => {
    for (const { path, operation } of described) {
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      const names = [...path.matchAll(/\{(\w+)\}/gu)].map((match) => match[1]);
      expect(
        inPath.map(({ name }) => name),
        path,
      ).toEqual(names);
      expect(
        inPath.every(({ required, description }) => required && description !== undefined),
        path,
      ).toBe(true);
    }
  });

  it("says what it does, under a tag of its document, and how each answer comes about", () => {
    for (const document of both) {
      const tags = document.tags.map(({ name }) => name);
      for (const { path, operation } of operations(document)) {
        expect(operation.summary, path).toMatch(/^[A-Z].*[^.]$/u);
        expect(tags, path).toEqual(expect.arrayContaining([...operation.tags]));
        const says = Object.values(operation.responses).map(({ description }) => description);
        expect(
          says.every((text) => text.endsWith(".")),
          path,
        ).toBe(true);
      }
    }
  });

  it("asks for a key unless its route is public", () => {
    const open = described.filter(({ operation }) => operation.security.length === 0);
    const names = open.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const isPublic = routes.filter(
      ({ scope, description }) => scope === "public" && description !== undefined,
    );
    expect(names.sort()).toEqual(isPublic.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it("takes a body that a parser is held to", () => {
    const names = described.flatMap(({ operation }) =>
      valuesOf(operation.requestBody, "$ref").map((pointer) => String(pointer).split("/").at(-1)),
    );
    const held = Object.keys(BODY_PARSERS);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !held.includes(name ?? ""))).toEqual([]);
  });
});

describe("the schemas", () => {
  it.each(Object.entries(documents))(
    "of %s are all there, all used, and all valid JSON Schema",
    (_, document) => {
      const { schemas } = document.components;
      const pointers = new Set(
        valuesOf(document, "$ref").map((pointer) => String(pointer).split("/").at(-1)),
      );
      expect(pointers).toEqual(new Set(Object.keys(schemas)));
      const inline = valuesOf(document.paths, "schema") as object[];
      for (const schema of [...Object.values(schemas), ...inline] as object[]) {
        expect(() => violation(schema, null)).not.toThrow();
      }
    },
  );
});
