/** The files of `deploy/`, by the programs that check such files: hadolint, dclint, systemd-analyze, Helm, promtool. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preparePrometheus } from "./testing/prometheus.ts";
import {
  DCLINT,
  DEPLOY,
  HELM,
  TOOLS,
  prepareNpmTools,
  preparePythonTools,
  readYaml,
  renderChart,
} from "./testing/tools.ts";

/** Of ten; what is left is mostly that a server may be reached from everywhere. */
const MOST_EXPOSURE = "1.5";
const UNIT = join(DEPLOY, "systemd/sheaf.service");
const CHART = join(DEPLOY, "helm/sheaf");
/** Every part of the chart that is off by default. */
const EVERYTHING = [
  ...["tls.secretName=tls", "rootKey.existingSecret=mine", "image.digest=sha256:0", "settings.strict=true"],
  ...["persistence.models.enabled=true", "persistence.storageClassName=fast", "networkPolicy.enabled=true"],
  ...["ingress.enabled=true", "ingress.host=sheaf.example.org", "ingress.tlsSecretName=tls"],
  ...["metrics.serviceMonitor.enabled=true", "backups.existingClaim=backups", "hfToken.existingSecret=hf"],
  "archive.existingClaim=archive",
  ...["models.mine.path=/models/mine", "extraEnv[0].name=TZ", "extraEnv[0].value=UTC"],
  ...["extraVolumes[0].name=mine", "extraVolumes[0].emptyDir.sizeLimit=1Gi"],
  ...["extraVolumeMounts[0].name=mine", "extraVolumeMounts[0].mountPath=/models"],
];
const folder = mkdtempSync(join(tmpdir(), "sheaf-deploy-"));
let python = "";

beforeAll(() => {
  prepareNpmTools();
  python = preparePythonTools();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, ...args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (error !== undefined) throw error;
  return { status, output: stdout + stderr };
}

describe("the Dockerfile", () => {
  it("is one that hadolint has nothing against", () => {
    expect(run(join(python, "hadolint"), join(DEPLOY, "docker/Dockerfile"))).toEqual({
      status: 0,
      output: "",
    });
  });
});

describe("the compose files", () => {
  it("are valid, and good style", () => {
    const config = join(TOOLS, "dclint.json");
    expect(run(DCLINT, "--config", config, "--max-warnings", "0", join(DEPLOY, "compose"))).toMatchObject({
      status: 0,
    });
  });
});

describe("the unit", () => {
  it("is one that systemd understands, and shields the server well", () => {
    expect(run("systemd-analyze", "verify", "--man=no", UNIT)).toEqual({ status: 0, output: "" });
    const most = String(Number(MOST_EXPOSURE) * 10);
    const { status, output } = run(
      "systemd-analyze",
      "security",
      "--offline=true",
      `--threshold=${most}`,
      UNIT,
    );
    const found = /Overall exposure level for sheaf\.service: ([\d.]+)/u.exec(output)?.[1];
    console.log(`exposure of sheaf.service: ${found} of 10`);
    expect({ status, found }).toMatchObject({ status: 0, found: expect.stringMatching(/^\d/u) as unknown });
  });
});

describe("the manifest of a cluster", () => {
  it("has objects that Kubernetes knows", () => {
    const manifest = join(DEPLOY, "kubernetes/cluster.yaml");
    const { status, output } = run(join(python, "kubernetes-validate"), "--strict", manifest);
    const passed = [...output.matchAll(/passed for resource (\w+)\//gu)].map(([, kind = ""]) => kind);
    expect({ status, passed: passed.toSorted((a, b) => a.localeCompare(b)) }).toEqual({
      status: 0,
      passed: [
        ...["configmap", "configmap", "deployment", "networkpolicy"],
        ...["poddisruptionbudget", "poddisruptionbudget", "service", "service"],
        ...["statefulset", "statefulset", "statefulset"],
      ],
    });
  });

  it("has a volume on embed nodes where the image looks for downloaded models, as the compose file has", () => {
    const text = (path: string): string => readFileSync(join(DEPLOY, path), "utf8");
    const place = /HF_HOME=(\S+)/u.exec(text("docker/Dockerfile"))?.[1] ?? "nowhere";
    expect(text("docker/Dockerfile")).toContain(`--chown=65532:65532 /data ${place}\n`);
    expect(text("compose/compose.cluster.yaml")).toContain(`- models-1:${place}\n`);
    expect(text("kubernetes/cluster.yaml")).toContain(`{ name: models, mountPath: ${place} }`);
  });
});

describe("the chart", () => {
  it("is one that Helm has nothing against", () => {
    expect(run(HELM, "lint", "--strict", CHART)).toMatchObject({ status: 0 });
  });

  it.each([
    { values: [], kinds: ["ConfigMap", "Secret", "Service", "StatefulSet"] },
    { values: EVERYTHING, kinds: ["ConfigMap", "Ingress", "NetworkPolicy", "Service", "StatefulSet"] },
  ])("makes objects that Kubernetes knows: $kinds", ({ values, kinds }) => {
    const path = join(folder, "rendered.yaml");
    writeFileSync(path, renderChart(values));
    const { status, output } = run(join(python, "kubernetes-validate"), "--strict", path);
    const passed = [...output.matchAll(/passed for resource (\w+)\//gu)].map(([, kind = ""]) => kind);
    expect({ status, passed: passed.toSorted((a, b) => a.localeCompare(b)) }).toEqual({
      status: 0,
      passed: kinds.map((kind) => kind.toLowerCase()),
    });
  });

  it("lets what it needs itself win over the values", () => {
    expect(renderChart(["settings.port=1", "settings.root-key-file=/x"])).toContain('"port": 8000');
  });

  it("has a place for backups, for an archive, for models and for the token of a hub", () => {
    const rendered = renderChart(EVERYTHING);
    expect(rendered).toContain('"backup-folder": "/var/backups/sheaf/backups"');
    expect(rendered).toContain("{ name: backups, mountPath: /var/backups/sheaf }");
    expect(rendered).toContain('"archive": "/var/archive/sheaf/archive"');
    expect(rendered).toContain("{ name: archive, mountPath: /var/archive/sheaf }");
    expect(rendered).toContain('"hf-token-file": "/run/secrets/hf/token"');
    expect(rendered).toContain('"models": "/etc/sheaf/models.json"');
    expect(rendered).toMatch(/models\.json: \|\n {4}\{\n {6}"mine": \{\n {8}"path": "\/models\/mine"/u);
  });

  it("has the version of the server", () => {
    const { version, appVersion } = readYaml(join(CHART, "Chart.yaml")) as Readonly<Record<string, unknown>>;
    const server = new URL("../../packages/server/package.json", import.meta.url);
    const manifest = JSON.parse(readFileSync(server, "utf8")) as { readonly version: string };
    expect({ version, appVersion }).toEqual({ version: manifest.version, appVersion: manifest.version });
  });
});

describe("the configuration of Prometheus", () => {
  it("is one that promtool has nothing against, with its alerts", () => {
    const promtool = join(preparePrometheus(folder), "promtool");
    const { status, output } = run(promtool, "check", "config", join(DEPLOY, "prometheus/prometheus.yml"));
    expect({ status, output }).toMatchObject({ status: 0 });
    expect(output).toMatch(/SUCCESS: \d+ rules found/u);
  });
});
