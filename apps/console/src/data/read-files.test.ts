/** Records of files: nothing is lost, or it is said with its line. */
import { LosslessNumber } from "lossless-json";
import { describe, expect, it } from "vitest";
import { readFile, withoutRepeats } from "./read-files.ts";

const read = (name: string, text: string) => readFile(name, new TextEncoder().encode(text));

/** As the server gets it. */
const metadataOf = (name: string, text: string) => read(name, text).records.map(({ metadata }) => metadata);

describe("a document", () => {
  it("is left to the server to cut", () => {
    const document = "# Tides\n\nShips leave. They come back.\n";
    const records = [{ id: "a.md", document, metadata: { source: "a.md" } }];
    expect(read("a.md", document)).toMatchObject({ records, chunking: { by: "headings" } });
    expect(read("a.txt", document)).toMatchObject({ chunking: { by: "sentences" } });
  });

  it.each([
    ["a.md", Uint8Array.of(0xff, 0xfe), /UTF-8/u],
    ["a.txt", new TextEncoder().encode(" \n"), /empty/u],
    ["a.csv", new TextEncoder().encode("\n"), /empty/u],
  ])("says why %s is of no use", (name, content, problem) => {
    const refused = { shown: [expect.stringMatching(problem)], count: 1 };
    expect(readFile(name, content)).toMatchObject({ records: [], refused });
  });
});

describe("JSON lines", () => {
  it("name the lines that cannot be read, and how many there are", () => {
    const { records, refused } = read("a.jsonl", `{"id": 1, "text": "x", "n": 2}\n${"no\n".repeat(210)}[]`);
    expect(records).toMatchObject([{ id: "1", document: "x", metadata: { n: 2 }, place: "line 1" }]);
    expect(refused.count).toBe(211);
    expect(refused.shown[0]).toMatch(/^line 2: /u);
    expect(refused.shown).toHaveLength(20);
  });

  it("keep every member", () => {
    const line =
      '{"id": "a", "document": "d", "text": "t", "uri": "u", "embedding": [1, 2], "other": true, ' +
      '"metadata": {"empty": "", "gone": null, "deep": {"b": [1]}, "sparse": {"#type": "sparse_vector", "indices": [1], "values": [2]}}}';
    expect(read("a.jsonl", line).records).toEqual([
      {
        id: "a",
        document: "d",
        uri: "u",
        embedding: [1, 2],
        metadata: {
          other: true,
          text: "t",
          empty: "",
          gone: null,
          deep: '{"b":[1]}',
          sparse: { "#type": "sparse_vector", indices: [1], values: [2] },
        },
        place: "line 1",
      },
    ]);
    expect(metadataOf("a.jsonl", '{"metadata": "m", "__proto__": "p"}')[0]).toEqual(
      Object.fromEntries([
        ["metadata", "m"],
        ["__proto__", "p"],
      ]),
    );
  });

  it("keep the digits of ids and numbers", () => {
    const [record] = read("a.jsonl", '{"id": 12345678901234567890, "n": 9007199254740993, "x": 2.0}').records;
    expect(record?.id).toBe("12345678901234567890");
    expect(record?.metadata).toEqual({
      n: new LosslessNumber("9007199254740993"),
      x: new LosslessNumber("2.0"),
    });
  });

  it.each([
    ['{"id": true}', "id: must be a text"],
    ['{"document": 5}', "document: must be a text"],
    ['{"uri": []}', "uri: must be a text"],
    ['{"a": 1, "metadata": {"a": 2}}', "a: stands in metadata and beside it"],
    ['{"n": [1, 9223372036854775808]}', "n: 9223372036854775808 is more than a number holds"],
    ['{"n": 1e400}', "n: 1e400 is more than a number holds"],
    ['{"n": 1, "n": 2}', "Duplicate key 'n'"],
    ["5", "is no JSON object"],
  ])("refuse %s", (line, problem) => {
    const { records, refused } = read("a.jsonl", `{"id": "good"}\n${line}\n`);
    expect(records).toHaveLength(1);
    expect(refused.shown).toEqual([expect.stringContaining(`line 2: ${problem}`)]);
  });
});

describe("CSV", () => {
  it("is a row each, whatever parts the cells", () => {
    const { records, chunking } = read("a.csv", '\uFEFFid;text;n\n1;"a;""b""";2\n;c;\n');
    expect(chunking).toBeNull();
    expect(records).toMatchObject([
      { id: "1", document: 'a;"b"', metadata: { n: 2 }, place: "line 2" },
      { id: "a.csv#2", document: "c", metadata: null, place: "line 3" },
    ]);
  });

  it("keeps columns whose names mean something", () => {
    const text = "document,text,uri,metadata,metadata.id,\nd,t,u,m,i,x\n";
    expect(read("a.csv", text).records).toMatchObject([
      { document: "d", uri: "u", metadata: { text: "t", metadata: "m", id: "i", "column 6": "x" } },
    ]);
  });

  it("has numbers, booleans and lists where all of a column is that", () => {
    const text =
      "id,year,mixed,code,long,exact,flag,tags,said\n" +
      '1,1990,1,007,12345678901234567890,9007199254740993,true,"[""a"",""b""]","1990"\n' +
      '2,-2.50,x,008,1,1.5,false,"[""c""]","2"\n3,,,,,,,,\n';
    const { records, kinds } = read("a.csv", text);
    expect(kinds).toEqual(["year (number)", "exact (number)", "flag (boolean)", "tags (list)"]);
    expect(records[0]?.metadata).toEqual({
      year: 1990,
      mixed: "1",
      code: "007",
      long: "12345678901234567890",
      exact: new LosslessNumber("9007199254740993"),
      flag: true,
      tags: ["a", "b"],
      said: "1990",
    });
    expect(records[2]?.metadata).toBeNull();
    const quoted = '"id","year"\n"1","1990"\n';
    expect(metadataOf("a.csv", quoted)).toEqual([{ year: 1990 }]);
  });

  it.each([
    ["a stray quote", 'id,text\n1,a\n2,"bro"ken\n3,c\n4,"x\ny"\n5,d\n', ["1", "3", "4", "5"], [3]],
    ["a quote within", 'id,text\n1,a\n2,b"roken\n3,c\n4,"x\ny"\n', ["1", "3", "4"], [3]],
    ["an open quote", 'id,text\n1,a\n2,"never\n3,c\n4,d\n', ["1", "3", "4"], [3]],
    ["a quote within a longer cell", 'id,text\n1,"x "y" z\nand on"\n3,c\n', ["3"], [2, 3]],
    ["too many cells", "id,text\r\n1,a\r\n\r\n2,b,c\r\n3,c,\r\n", ["1", "3"], [4]],
  ])("loses a line to %s, and names it", (_, text, ids, lines) => {
    const { records, refused } = read("a.csv", text);
    expect(records.map(({ id }) => id)).toEqual(ids);
    expect(refused.shown.map((problem) => Number(/^line (\d+): /u.exec(problem)?.[1]))).toEqual(lines);
  });

  it("goes on after a fault anywhere among many rows", () => {
    const rows = Array.from({ length: 2_500 }, (__, i) => (i === 1_210 ? `${i},"a"b` : `${i},"a\nb"`));
    const { records, refused } = read("a.csv", ["id,text", ...rows].join("\n"));
    expect(records).toHaveLength(2_499);
    expect(records.at(-1)).toMatchObject({ id: "2499", document: "a\nb", place: "line 4999" });
    expect(refused.shown).toEqual([expect.stringMatching(/^line 2422: /u)]);
  });

  it("goes through a file of nothing but faults", () => {
    const rows = Array.from({ length: 5_000 }, (__, i) => (i % 2 === 0 ? `${i},"a"b"` : `${i},"a"b`));
    const { records, refused } = read("a.csv", ["id,text", ...rows].join("\n"));
    expect(records).toEqual([]);
    expect(refused.count).toBe(5_000);
  });

  it.each([
    ["a head with a stray quote", 'id,te"xt\n1,a\n', /^line 1: /u],
    ["a column that comes twice", "id,a,a\n1,2,3\n", /a twice/u],
  ])("is refused as a whole for %s", (_, text, problem) => {
    const { records, refused } = read("a.csv", text);
    expect(records).toEqual([]);
    expect(refused.shown).toEqual([expect.stringMatching(problem)]);
  });
});

describe("an id that comes again", () => {
  it("is refused, within a file and across files", () => {
    const files = [read("a.jsonl", '{"id":"1"}\n{"id":"2"}\n{"id":"1"}'), read("b.csv", "id,n\n2,1\n3,1\n")];
    const [a, b] = withoutRepeats([...files, read("a.md", "x"), read("a.md", "y")]);
    expect(a?.records.map(({ id }) => id)).toEqual(["1", "2"]);
    expect(a?.refused.shown).toEqual(["line 3: has the id 1, as line 1 of a.jsonl has"]);
    expect(b?.records.map(({ id }) => id)).toEqual(["3"]);
    expect(b?.refused.shown).toEqual(["line 2: has the id 2, as line 2 of a.jsonl has"]);
    expect(withoutRepeats([read("a.md", "x"), read("a.md", "y")])[1]?.refused).toEqual({
      shown: ["has the id a.md, as a.md has"],
      count: 1,
    });
  });
});
