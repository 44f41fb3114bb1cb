import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { type FlagTexts, readSettings } from "../config.ts";
import { advertisedOf, clusterOf } from "./cluster-settings.ts";
import { SettingError } from "./setting-error.ts";

const SECRET = "0123456789-0123456789-0123456789";
const CLUSTER = { SHEAF_ROOT_KEY: "sixteen-letters!", SHEAF_CLUSTER_SECRET: SECRET };
const database = "postgres://u@127.0.0.1/d";

const read = (flags: FlagTexts, environment: Record<string, string> = CLUSTER) =>
  readSettings({ database, ...flags }, environment);
const refusal = (flags: FlagTexts, environment: Record<string, string> = CLUSTER): string => {
  try {
    read(flags, environment);
  } catch (error) {
    if (error instanceof SettingError) return error.message;
  }
  return "it was not refused";
};

describe("settings of a cluster", () => {
  it("say where a node listens, and how others reach it", () => {
    expect(read({ nodeListen: "7000" }).nodeListen).toEqual({ host: "127.0.0.1", port: 7_000 });
    expect(read({ nodeListen: "[fd00::5]:7000" }).nodeListen).toEqual({ host: "fd00::5", port: 7_000 });
    const everywhere = read({ nodeListen: "0.0.0.0:0" });
    expect(advertisedOf(everywhere, { host: "0.0.0.0", port: 7_001 })).toEqual({
      host: hostname(),
      port: 7_001,
    });
    const named = read({ nodeListen: "0.0.0.0:7000", nodeAdvertise: "node-1.internal:7100" });
    expect(advertisedOf(named, { host: "0.0.0.0", port: 7_000 })).toEqual({
      host: "node-1.internal",
      port: 7_100,
    });
  });

  it.each(["", "host", "host:", ":7000", "host:70000", "a b:7000", "fd00::5:7000", "http://host:7000"])(
    "refuse %s as an address",
    (nodeListen) => {
      expect(refusal({ nodeListen })).toContain("--node-listen: must be");
    },
  );

  it("refuse what would be no cluster, by the name of what is missing", () => {
    const alone = { SHEAF_ROOT_KEY: "sixteen-letters!" };
    expect(refusal({ role: "gateway" }, alone)).toContain("SHEAF_CLUSTER_SECRET");
    expect(refusal({ nodeListen: "7000" }, alone)).toContain("SHEAF_CLUSTER_SECRET");
    expect(refusal({ role: "gateway", nodeListen: "7000" })).toContain("--node-listen");
    expect(refusal({ role: "embed", nodeListen: "7000" }, alone)).toContain("SHEAF_CLUSTER_SECRET");
    expect(refusal({ nodeAdvertise: "host:7000" })).toContain("needs --node-listen");
    expect(() => readSettings({ role: "gateway" }, CLUSTER)).toThrow("needs --database");
    expect(refusal({ role: "index" })).toContain("--objects");
    expect(() => readSettings({ role: "index" }, CLUSTER)).toThrow("needs --database");
    expect(refusal({ role: "index", nodeListen: "7000" })).toContain("--node-listen");
    expect(refusal({ readReplicas: "0" })).toContain("--read-replicas");
  });

  it("tell the engine of the other nodes where gateways call it and it is a search node", () => {
    const node = { nodeListen: "7000", readReplicas: "3" };
    expect(clusterOf(read({ role: "search", ...node }))).toEqual({
      cluster: { secrets: [SECRET], readReplicas: 3 },
    });
    expect(clusterOf(read({ role: "search" }))).toEqual({});
    expect(clusterOf(read(node))).toEqual({});
  });

  it("refuse secrets that are short or no text, without showing them", () => {
    for (const secret of ["too-short-to-be-one", `${SECRET} with spaces`, "x".repeat(513)]) {
      const said = refusal({ role: "gateway" }, { ...CLUSTER, SHEAF_CLUSTER_SECRET: secret });
      expect(said).toContain("SHEAF_CLUSTER_SECRET: must be 32 to 512");
      expect(said).not.toContain(secret);
    }
  });

  it("take two secrets while one takes the place of the other, and no more", () => {
    const other = SECRET.replaceAll("0", "x");
    const refusalOf = (...secrets: readonly string[]): string =>
      refusal({ role: "gateway" }, { ...CLUSTER, SHEAF_CLUSTER_SECRET: secrets.join("\n") });
    expect(refusalOf(SECRET, other)).toBe("it was not refused");
    expect(refusalOf(SECRET, other, `${SECRET}-third`)).toContain(
      "SHEAF_CLUSTER_SECRET: must be one secret, or two",
    );
    expect(refusalOf(SECRET, SECRET)).toContain("the same, or alike");
    for (const secrets of [
      [SECRET, "short"],
      ["", SECRET],
      [SECRET, ""],
    ])
      expect(refusalOf(...secrets)).toContain("must be 32 to 512");
  });
});
