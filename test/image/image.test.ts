/**
 * The image, as a container engine runs it: read-only, as a user that is not root, without capabilities and without a
 * network. No engine runs here: `testing/` builds the Dockerfile and runs the result with what Linux offers.
 */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { folderBytes } from "../pack/testing/folder-bytes.ts";
import { type Image, RunningImage, buildImage, killAllImages } from "./testing/image.ts";
import { Prometheus, preparePrometheus, queriesOf } from "./testing/prometheus.ts";
import { RunningUnit } from "./testing/systemd.ts";
import { DEPLOY, prepareNpmTools, readYaml, renderChart } from "./testing/tools.ts";

const MEGABYTE = 1e6;
const MOST_MB = 350;
const ROOT_KEY = "a-root-key-for-tests-only";
/** Metrics that one server alone does not have. */
const OF_GATEWAYS = new Set([
  ...["sheaf_search_nodes", "sheaf_embed_nodes", "sheaf_index_nodes"],
  ...["sheaf_embed_node_texts", "sheaf_embed_alone"],
]);
const CLIENT = fileURLToPath(new URL("testing/first-search.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "sheaf-image-"));
const volume = join(folder, "volume");
const secrets = join(folder, "secrets");
let image: Image;
let running: RunningImage | null = null;

beforeAll(() => {
  if (process.getuid?.() !== 0) throw new Error("npm run test:image needs root, for mounts and namespaces");
  prepareNpmTools();
  mkdirSync(secrets);
  writeFileSync(join(secrets, "root-key"), `${ROOT_KEY}\n`, { mode: 0o444 });
  image = buildImage(folder);
});

afterAll(() => {
  killAllImages();
  rmSync(folder, { recursive: true, force: true });
});

function server(): RunningImage {
  if (running === null) throw new Error("the server of an earlier test does not run");
  return running;
}

/** The service of compose files, the later winning over the earlier. */
function composed(...files: readonly string[]): readonly string[] {
  const commands = files.map((file) => {
    const { services } = readYaml(join(DEPLOY, "compose", file)) as {
      readonly services: { readonly sheaf: { readonly command?: readonly string[] } };
    };
    return services.sheaf.command;
  });
  const command = commands.findLast((each) => each !== undefined);
  if (command === undefined) throw new Error("no file has a command");
  return command;
}

const search = (): unknown => JSON.parse(server().beside([process.execPath, CLIENT, ROOT_KEY]));

describe("the image", () => {
  it(`takes at most ${MOST_MB} MB with the bundled model`, () => {
    const megabytes = folderBytes(image.root) / MEGABYTE;
    console.log(`the image: ${megabytes.toFixed(1)} MB, of it @sheaf/server ${sizeOf("opt").toFixed(1)} MB`);
    expect(sizeOf("opt/sheaf/node_modules/@sheaf/model-minilm")).toBeGreaterThan(10);
    expect(megabytes).toBeLessThan(MOST_MB);
  });

  it("has nothing that its user can change, but its volume and /tmp", () => {
    const uid = Number(image.config.user.split(":")[0]);
    expect(uid).toBeGreaterThan(0);
    const writable = readdirSync(image.root, { recursive: true, encoding: "utf8" }).filter((name) => {
      const file = statSync(join(image.root, name), { throwIfNoEntry: false });
      return file !== undefined && (file.uid === uid || (file.mode & 0o002) !== 0);
    });
    const allowed = [
      "home/nonroot",
      "tmp",
      "var/archive/sheaf",
      "var/backups/sheaf",
      "var/cache/sheaf",
      "var/lib/sheaf",
      "var/tmp",
      "var/lock",
      "run/lock",
    ];
    expect(writable.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(image.config.volumes).toEqual(["/var/lib/sheaf"]);
  });

  it("becomes healthy, and answers a search by text", async () => {
    running = RunningImage.start(image, { volume, secrets, command: composed("compose.yaml") });
    await running.waitUntilHealthy();
    expect(search()).toEqual({
      dimensions: 384,
      recordsBefore: 0,
      found: ["Ships wait for the tide."],
      withoutKey: 401,
    });
    expect(running.output).not.toContain(ROOT_KEY);
  });

  it("runs as a user without any capability, who can gain none", () => {
    const status = readFileSync(`/proc/${server().pid}/status`, "utf8");
    expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/mu);
    expect(status).toMatch(/^Gid:\t65532\t65532\t65532\t65532$/mu);
    expect(status).toMatch(/^CapEff:\t0+$/mu);
    expect(status).toMatch(/^CapPrm:\t0+$/mu);
    expect(status).toMatch(/^NoNewPrivs:\t1$/mu);
    expect(status).toMatch(/^NSpid:\t\d+\t1$/mu);
  });

  it("has a root file system that nobody can write to", () => {
    const write = ["/nodejs/bin/node", "-e", "fs.writeFileSync('/opt/sheaf/x', '')"];
    expect(server().exec(write, "0:0").output).toContain("EROFS");
    expect(server().exec(["/bin/sh", "-c", "true"], "0:0").status).not.toBe(0);
  });

  it("has the command sheaf for what is done beside the server", () => {
    expect(server().exec(["sheaf", "doctor", "--help"]).output).toContain("Usage: sheaf doctor");
    expect(server().exec(["sheaf", "keys", "list", "--key", ROOT_KEY])).toMatchObject({ status: 0 });
  });

  it("ends with 0 when it is stopped, and has its records after the next start", async () => {
    expect(await server().stop()).toBe(0);
    running = RunningImage.start(image, { volume, secrets, command: composed("compose.yaml") });
    await running.waitUntilHealthy();
    expect(search()).toMatchObject({ recordsBefore: 2, found: ["Ships wait for the tide."] });
    expect(await running.stop()).toBe(0);
    running = null;
  });
});

describe("the image with the settings of deploy/", () => {
  it("runs as the chart has it, on a volume that belongs to root", async () => {
    const rendered = renderChart();
    const chart = /config\.json: \|\n((?: {4}.*\n)+)/u.exec(rendered)?.[1] ?? "";
    const config = JSON.parse(chart) as Readonly<Record<string, unknown>>;
    expect(config).toMatchObject({ "root-key-file": "/run/secrets/sheaf/root-key" });
    const mounted = join(folder, "chart-secrets");
    mkdirSync(join(mounted, "sheaf"), { recursive: true });
    writeFileSync(join(mounted, "config.json"), chart);
    const args = /args: \[(.*)\]/u.exec(rendered)?.[1]?.split(", ") ?? [];
    expect(args).toContain("/etc/sheaf/config.json");
    const command = args.map((arg) => arg.replace("/etc/sheaf/", "/run/secrets/"));
    writeFileSync(join(mounted, "sheaf/root-key"), ROOT_KEY, { mode: 0o444 });
    const claimed = join(folder, "claimed");
    mkdirSync(claimed);
    // What `fsGroup` makes of it.
    chownSync(claimed, 0, 65_532);
    chmodSync(claimed, 0o2775);
    running = RunningImage.start(image, { volume: claimed, secrets: mounted, command });
    await running.waitUntilHealthy();
    expect(search()).toMatchObject({ found: ["Ships wait for the tide."] });
    expect(readdirSync(claimed)).toEqual(["data"]);
    expect(await running.stop()).toBe(0);
    running = null;
  });

  it("is scraped by Prometheus, which knows every metric of the dashboard and the alerts", async () => {
    const command = composed("compose.yaml", "compose.monitoring.yaml");
    running = RunningImage.start(image, { volume, secrets, command });
    await running.waitUntilHealthy();
    search();
    const prometheus = new Prometheus(running, preparePrometheus(join(folder, "prometheus")));
    try {
      await prometheus.waitForTwoScrapes();
      const queries = queriesOf(DEPLOY);
      expect(queries.length).toBeGreaterThan(30);
      const answers = queries.map((query) => ({ query, ...prometheus.ask(query) }));
      expect(answers.filter(({ error }) => error !== null)).toEqual([]);
      const known = new Set(prometheus.metrics());
      const named = queries.flatMap((query) => query.match(/\b(?:sheaf|process|nodejs)_\w+/gu) ?? []);
      expect([...new Set(named)].filter((name) => !known.has(name) && !OF_GATEWAYS.has(name))).toEqual([]);
      expect(prometheus.firing()).toEqual([]);
    } finally {
      prometheus.stop();
    }
    expect(await running.stop()).toBe(0);
    running = null;
  });
});

describe("the unit of deploy/", () => {
  it("runs below systemd, embeds and searches, and starts again whatever ended it", async () => {
    const unit = new RunningUnit(join(folder, "systemd"), join(image.root, "opt/sheaf"));
    try {
      await unit.start();
      const ask = (): unknown => JSON.parse(unit.beside([process.execPath, CLIENT, ROOT_KEY]));
      expect(ask()).toMatchObject({ recordsBefore: 0, found: ["Ships wait for the tide."] });
      // Without TLS the server ends at this signal, which systemd takes for a clean end.
      unit.systemctl("kill", "--kill-whom=main", "--signal=HUP", "sheaf.service");
      await expect.poll(() => unit.property("NRestarts")).toBe("1");
      await unit.waitUntilReady();
      expect(ask()).toMatchObject({ recordsBefore: 2 });
      unit.systemctl("stop", "sheaf.service");
      expect([unit.property("ActiveState"), unit.property("Result")]).toEqual(["inactive", "success"]);
    } finally {
      unit.kill();
    }
  });
});

function sizeOf(path: string): number {
  return folderBytes(join(image.root, path)) / MEGABYTE;
}
