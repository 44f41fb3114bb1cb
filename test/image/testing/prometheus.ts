/** Debian's Prometheus, with the configuration of `deploy/prometheus`, in the network of a running image. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { downloadDebian } from "./debian-packages.ts";
import type { RunningImage } from "./image.ts";
import { DEPLOY, readYaml } from "./tools.ts";

const ADDRESS = "127.0.0.1:9090";
const ASK = "fetch(process.argv[1]).then((reply) => reply.text()).then((text) => console.log(text))";
const ATTEMPTS = 200;

/** Folder with the programs `prometheus` and `promtool`. */
export function preparePrometheus(folder: string): string {
  const unpacked = join(folder, "debian");
  mkdirSync(unpacked, { recursive: true });
  const [file = ""] = downloadDebian(["prometheus"], join(folder, "packages"));
  execFileSync("dpkg-deb", ["--extract", file, unpacked]);
  return join(unpacked, "usr/bin");
}

interface Reply<T> {
  readonly status: "success" | "error";
  readonly error?: string;
  readonly data: T;
}

export class Prometheus {
  readonly #image: RunningImage;
  readonly #process: ChildProcess;

  constructor(image: RunningImage, programs: string) {
    this.#image = image;
    const folder = join(programs, "run");
    cpSync(join(DEPLOY, "prometheus"), folder, { recursive: true });
    const path = join(folder, "prometheus.yml");
    // The same, but faster, and without a name server.
    const config = readFileSync(path, "utf8").replaceAll("15s", "1s").replace("sheaf:9464", "127.0.0.1:9464");
    writeFileSync(path, config);
    this.#process = image.startBeside([
      join(programs, "prometheus"),
      `--config.file=${path}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${ADDRESS}`,
    ]);
  }

  async waitForTwoScrapes(): Promise<void> {
    for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
      const scrapes = this.#tryNumber("sum(count_over_time(sheaf_collections[1h]))");
      if (scrapes >= 2 && this.#tryNumber('sum(up{job="sheaf"})') === 1) return;
      await sleep(250);
    }
    throw new Error("Prometheus has not scraped the server");
  }

  /** `error`: what Prometheus has against the query. */
  ask(query: string): { readonly error: string | null; readonly rows: number } {
    const { status, error, data } = this.#get<{ readonly result: readonly unknown[] }>("query", { query });
    return status === "error" ? { error: error ?? "", rows: 0 } : { error: null, rows: data.result.length };
  }

  /** Names of what was scraped. */
  metrics(): readonly string[] {
    return this.#get<readonly string[]>("label/__name__/values", {}).data;
  }

  /** Names of alerts. */
  firing(): readonly string[] {
    const { data } = this.#get<{
      readonly alerts: readonly { readonly labels: { readonly alertname: string } }[];
    }>("alerts", {});
    return data.alerts.map(({ labels }) => labels.alertname);
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }

  /** 0 where there is nothing, or no Prometheus yet. */
  #tryNumber(query: string): number {
    try {
      const { data } = this.#get<{ readonly result: readonly { readonly value: [number, string] }[] }>(
        "query",
        {
          query,
        },
      );
      return Number(data.result[0]?.value[1] ?? 0);
    } catch {
      return 0;
    }
  }

  #get<T>(path: string, parameters: Readonly<Record<string, string>>): Reply<T> {
    const url = `http://${ADDRESS}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`;
    return JSON.parse(this.#image.beside([process.execPath, "-e", ASK, url])) as Reply<T>;
  }
}

/** Of all dashboards and alerts, with values in place of Grafana's variables. */
export function queriesOf(folder: string): readonly string[] {
  const dashboards = readdirSync(join(folder, "grafana/dashboards")).flatMap((name) => {
    const { panels } = JSON.parse(readFileSync(join(folder, "grafana/dashboards", name), "utf8")) as {
      readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    };
    return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  });
  const { groups } = readYaml(join(folder, "prometheus/alerts.yml")) as {
    readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
  return [...dashboards, ...alerts].map((query) =>
    query.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".+").replaceAll("$datasource", ""),
  );
}
