/** The settings of servers that call each other. Part of the table in `config.ts`. */
import { hostname } from "node:os";
import type { HostedEngineOptions } from "@sheaf/engine";
import { ClusterSecret, LEAST_SECRET_CHARACTERS, type PeerAddress } from "@sheaf/process";
import type { Setting, Settings } from "../config.ts";
import { countSetting } from "./count-setting.ts";
import { parseSwitch } from "./parse-switch.ts";
import { readSecretFile } from "./secret-file.ts";
import { SettingError } from "./setting-error.ts";

export type Role = (typeof ROLES)[number];

const ROLES = ["all", "embed", "gateway", "index", "search"] as const;

export interface ClusterSettings {
  /** Where gateways call this server; `null`: nowhere. */
  readonly nodeListen: PeerAddress | null;
  /** How they reach it, where that is another address. */
  readonly nodeAdvertise: PeerAddress | null;
  /** One, or two on a line each. */
  readonly clusterSecret: string | null;
  /** What the file holds. */
  readonly clusterSecretFile: string | null;
  readonly readReplicas: number;
  /** Whether a gateway runs the models that no embed node can. */
  readonly localModels: boolean;
}

const MOST_REPLICAS = 16;
const MOST_SECRET_CHARACTERS = 512;
/** The one that was, and the one that is to be. */
const MOST_SECRETS = 2;

export const CLUSTER_SETTINGS: {
  readonly [name in keyof ClusterSettings]: Setting<ClusterSettings[name]>;
} = {
  nodeListen: {
    env: "SHEAF_NODE_LISTEN",
    flag: { name: "node-listen", operand: "address:port" },
    default: null,
    doc: "Experimental. Address and port on which gateways call this server; a port alone listens on 127.0.0.1, port 0 selects a free one. Every connection is encrypted, and closed unless it proves to know the secret of the cluster. Needs --database.",
    parse: (text) => parseAddress(text, { isPortEnough: true }),
  },
  nodeAdvertise: {
    env: "SHEAF_NODE_ADVERTISE",
    flag: { name: "node-advertise", operand: "host:port" },
    default: null,
    doc: "Host and port under which gateways reach --node-listen, where that is not what it listens on. Of a server that listens on all its addresses it is the machine's name by default.",
    parse: (text) => parseAddress(text, { isPortEnough: false }),
  },
  clusterSecret: {
    env: "SHEAF_CLUSTER_SECRET",
    flag: null,
    default: null,
    doc: `Secret that all servers of a cluster know, ${LEAST_SECRET_CHARACTERS} to ${MOST_SECRET_CHARACTERS} printable characters, chosen at random (openssl rand -hex 32). Whoever has it can read and change everything. While it is changed, the two secrets stand on a line each.`,
    parse: parseSecrets,
  },
  clusterSecretFile: {
    env: "SHEAF_CLUSTER_SECRET_FILE",
    flag: { name: "cluster-secret-file", operand: "file" },
    default: null,
    doc: "File with the secret of the cluster, such as a secret that a container or systemd mounts. A line break at its end does not count. While the secret is changed, it holds both, each on a line.",
    parse: (text) => parseSecrets(readSecretFile(text)),
  },
  readReplicas: countSetting("read-replicas", {
    operand: "number",
    initial: 2,
    doc: "On how many search nodes a gateway reads one collection while all of them are well. Each keeps a copy of what it serves, and an index of it.",
    least: 1,
    most: MOST_REPLICAS,
  }),
  localModels: {
    env: "SHEAF_LOCAL_MODELS",
    flag: { name: "local-models", operand: "on|off" },
    default: "on",
    doc: "Whether a gateway runs a model itself while no embed node can. With `off` texts get 503 then, and a gateway never needs memory for models.",
    parse: (text) => parseSwitch(text),
  },
};

export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new SettingError(`must be one of ${ROLES.join(", ")}`);
  return role;
}

/** `refuseConflicts` has seen that there is one. */
export function clusterSecretOf(settings: Settings): ClusterSecret {
  return new ClusterSecret(...secretsOf(settings));
}

/** Of a node that gateways call and that does nothing for itself: it leaves records to the nodes of their partitions. */
export function clusterOf(settings: Settings): Pick<HostedEngineOptions, "cluster"> {
  const { role, nodeListen, readReplicas } = settings;
  if (role !== "search" || nodeListen === null) return {};
  return { cluster: { secrets: secretsOf(settings), readReplicas } };
}

function secretsOf({ clusterSecret, clusterSecretFile }: Settings): readonly string[] {
  return linesOf(clusterSecret ?? clusterSecretFile ?? "");
}

/** Where others reach a server that listens there. */
export function advertisedOf({ nodeAdvertise }: Settings, { host, port }: PeerAddress): PeerAddress {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  return nodeAdvertise ?? { host: isEverywhere ? hostname() : host, port };
}

/** What it throws never has the text. */
function parseSecrets(text: string): string {
  const secrets = linesOf(text);
  if (secrets.length > MOST_SECRETS)
    throw new SettingError(
      "must be one secret, or two on a line each while one takes the place of the other",
    );
  const isSecret = (line: string): boolean =>
    /^[\x21-\x7e]+$/u.test(line) && line.length <= MOST_SECRET_CHARACTERS;
  if (secrets.some((line) => line.length < LEAST_SECRET_CHARACTERS || !isSecret(line)))
    throw new SettingError(
      `must be ${LEAST_SECRET_CHARACTERS} to ${MOST_SECRET_CHARACTERS} printable ASCII characters without spaces`,
    );
  try {
    void new ClusterSecret(...secrets);
  } catch (error) {
    throw new SettingError("has two secrets that are the same, or alike: choose another one", {
      cause: error,
    });
  }
  return text;
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/u);
}

function parseAddress(text: string, { isPortEnough }: { readonly isPortEnough: boolean }): PeerAddress {
  const parts = /^(?:(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[\w.-]+)):)?(?<port>\d{1,5})$/u.exec(text)?.groups;
  const host = parts?.["v6"] ?? parts?.["name"] ?? (isPortEnough ? "127.0.0.1" : null);
  const port = Number(parts?.["port"] ?? NaN);
  if (host === null || !(port <= 65_535) || (port === 0 && !isPortEnough)) {
    const form = isPortEnough ? "a port, or an address and a port such as" : "a host and a port such as";
    throw new SettingError(`must be ${form} 10.0.0.5:7000 or [fd00::5]:7000`);
  }
  return { host, port };
}
