/** Texts are quoted so that each language reads what was meant: the programs themselves say so. */
import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asCurl, asPython, asTypeScript, extensionIn, shellText, typeScriptText } from "./copy-as.ts";
import { pythonRank } from "./python-rank.ts";
import { pythonText } from "./python-text.ts";

const INFO = { name: "notes", tenant: "default_tenant", database: "default_database" };
const SEARCH = {
  ...{ url: "https://sheaf.example/prefix", path: "/api/v2/tenants/t/databases/d/collections/c", info: INFO },
  ...{ dictionary: { rank: { $knn: { query: "it's $HOME `x`" } }, limit: { limit: 3 } }, hasKey: true },
};
/** No program takes a zero byte among its arguments. */
const texts = fc.array(
  fc.string({ unit: "binary" }).map((text) => text.replaceAll("\u0000", "")),
  { maxLength: 20 },
);

describe("quoting", () => {
  it("for a shell is what a shell takes apart again", () => {
    fc.assert(
      fc.property(texts, (values) => {
        const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${values.map(shellText).join(" ")}`]);
        const read = values.length === 0 ? [] : printed.toString().split("\u0000").slice(0, -1);
        expect(read).toEqual(values.map((text) => Buffer.from(text).toString()));
      }),
      { numRuns: 30 },
    );
  });

  it("for Python and TypeScript is a literal of the same value", () => {
    const named: unknown = JSON.parse('{"__proto__": {"a": 1}, "\\"__proto__": "\\"__proto__\\": 1"}');
    const values = [named, ...fc.sample(fc.jsonValue({ stringUnit: "binary" }), 200)];
    const program = `import json\nprint(json.dumps([${values.map(pythonText).join(",\n")}]))`;
    const printed = execFileSync("python3", ["-"], { input: program }).toString();
    expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(values)));
    for (const value of values) {
      const read: unknown = runInNewContext(`(${typeScriptText(value)})`);
      expect(JSON.stringify(read)).toBe(JSON.stringify(value));
    }
  });
});

/** What a copied program sends, as the program itself says when it runs. */
describe("a program", () => {
  const text = fc.string({ unit: "binary", minLength: 1 });
  const searches = fc.record({
    url: fc.constantFrom("https://sheaf.example/prefix", "http://127.0.0.1:8000"),
    path: fc.constant("/api/v2/tenants/t%20'/databases/d/collections/c"),
    info: fc.record({ name: text, tenant: text, database: text }),
    dictionary: fc.record({
      where: fc.record({ [`it's "$HOME"`]: text }),
      rank: fc.record({ $knn: fc.record({ query: text, key: text }) }),
      limit: fc.record({ limit: fc.nat() }),
    }),
    hasKey: fc.boolean(),
  });
  const samples = fc.sample(searches, 40);
  const read = (printed: Buffer): unknown => JSON.parse(printed.toString());

  it("for a shell sends the dictionary and the key", () => {
    const stub = `curl() { printf '%s\\0' "$@"; }`;
    for (const search of samples) {
      const env = { ...process.env, SHEAF_KEY: "the key" };
      const printed = execFileSync("bash", ["-c", `${stub}\n${asCurl(search)}`], { env });
      const args = printed.toString().split("\u0000").slice(0, -1);
      expect(args).toContain(`${search.url}${search.path}/search`);
      expect(args.includes("x-service-token: the key")).toBe(search.hasKey);
      const body: unknown = JSON.parse(args[args.indexOf("-d") + 1]!);
      expect(body).toEqual({ searches: [search.dictionary] });
    }
  });

  it("for TypeScript sends the dictionary and the key", () => {
    const programs = samples.map((search) => asTypeScript(search).replace(/^import .*$/mu, ""));
    const stub = `
      class SheafClient {
        constructor(options) { this.options = options; }
        async request(request) { sent.push({ options: this.options, request }); return { ids: [[]] }; }
      }
      const sent = [];
      const told = console.log;
      console.log = () => undefined;`;
    const all = programs.map((program) => `await (async () => {${program}\n})();`).join("\n");
    const env = { ...process.env, SHEAF_KEY: "the key" };
    const source = `${stub}\n${all}\ntold(JSON.stringify(sent));`;
    const printed = execFileSync(process.execPath, ["--input-type=module", "-"], { input: source, env });
    expect(read(printed)).toEqual(
      samples.map(({ url, path, dictionary, hasKey }) => ({
        options: { url, ...(hasKey && { key: "the key" }) },
        request: { method: "POST", path: `${path}/search`, json: { searches: [dictionary] } },
      })),
    );
  });

  it("for Python sends the dictionary and the key", () => {
    const stub = `
import contextlib, io, json, os, sys, types
os.environ["SHEAF_KEY"] = "the key"
sent = []
class Client:
    def __init__(self, **options): self.options = options
    def get_collection(self, name): self.name = name; return self
    def search(self, search): sent.append([self.options, self.name, search]); return {"ids": [[]]}
def module(name, **members):
    sys.modules[name] = types.ModuleType(name); sys.modules[name].__dict__.update(members)
as_dict = lambda **members: members
module("chromadb", HttpClient=Client, Knn=as_dict, Search=as_dict)
module("sheaf_client", use_client=lambda client: None)
for name in ["chromadb.execution", "chromadb.execution.expression"]: module(name)
module("chromadb.execution.expression.operator", Val=float)
for program in json.loads(sys.stdin.buffer.read()):
    with contextlib.redirect_stdout(io.StringIO()): exec(program, {})
print(json.dumps(sent))`;
    const input = JSON.stringify(samples.map(asPython));
    const printed = execFileSync("python3", ["-c", stub], { input });
    expect(read(printed)).toEqual(
      samples.map(({ url, info: { name, tenant, database }, dictionary, hasKey }) => {
        const { where, rank, limit } = dictionary;
        const isSecure = url.startsWith("https");
        const host = {
          host: isSecure ? url : new URL(url).hostname,
          port: isSecure ? 443 : 8000,
          ssl: isSecure,
        };
        const headers = hasKey && { headers: { "x-chroma-token": "the key" } };
        return [{ ...host, tenant, database, ...headers }, name, { where, rank: rank.$knn, limit }];
      }),
    );
  });
});

describe("a copied search", () => {
  it.each([asCurl, asTypeScript, asPython])("%o names the key and does not hold one", (write) => {
    const program = write(SEARCH);
    expect(program).toContain("SHEAF_KEY");
    expect(write({ ...SEARCH, hasKey: false })).not.toContain("SHEAF_KEY");
  });

  it("has its rank in the words of Chroma's Search API, or is refused there", () => {
    const knn = { $knn: { query: "it's", key: "bm25", return_rank: true } };
    const rank = {
      $mul: [{ $sum: [{ $div: { left: { $val: 1 }, right: knn } }, { $exp: knn }] }, { $val: -1 }],
    };
    const leaf = 'Knn(query="it\'s", key="bm25", return_rank=True)';
    expect(pythonRank(rank)).toBe(`(((Val(1) / ${leaf}) + ${leaf}.exp()) * Val(-1))`);
    expect(pythonRank({ $max: [{ $val: 1 }, { $val: 2 }, knn] })).toBe(`Val(1).max(Val(2)).max(${leaf})`);
    for (const other of [
      { $knn: { query: { indices: [1], values: [1] } } },
      { $new: [] },
      { $sum: [{ $new: 1 }] },
      1,
    ]) {
      expect(pythonRank(other)).toBeNull();
      expect(extensionIn({ rank: other })).toBe("such a rank");
    }
  });

  it("is for Chroma's clients where it has no extension", () => {
    expect(extensionIn(SEARCH.dictionary)).toBeNull();
    expect(extensionIn({ mmr: {} })).toBe("mmr");
    expect(extensionIn({ rank: { $sum: [{ $val: 1 }, { $age: { key: "made" } }] } })).toBe("$age");
  });
});
