/**
 * The settings of who may connect, under which names the server is reached, and what may be asked of it. Part of the table in `config.ts`.
 */
import { isIP } from "node:net";
import type { Setting } from "../config.ts";
import { countSetting } from "./count-setting.ts";
import { hostName } from "../http/host-name.ts";
import { parseList } from "./parse-list.ts";
import { parseSwitch } from "./parse-switch.ts";
import { SettingError } from "./setting-error.ts";

export interface ConnectionSettings {
  /** Lower case, without port. */
  readonly allowedHosts: readonly string[];
  readonly trustedProxies: readonly string[];
  /** 0: no bound; so the next. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly idleConnectionSeconds: number;
  /** Whether requests are refused what Chroma has not. */
  readonly strict: boolean;
  /** Address of the port for metrics. */
  readonly metricsHost: string;
}

const MOST_IDLE_SECONDS = 3_600;

export const CONNECTION_SETTINGS: {
  readonly [name in keyof ConnectionSettings]: Setting<ConnectionSettings[name]>;
} = {
  allowedHosts: {
    env: "SHEAF_ALLOWED_HOSTS",
    flag: { name: "allowed-hosts", operand: "names" },
    default: "",
    doc: "Host names, separated by commas, that requests may name in their Host header under --auth off and on the port for metrics, beside those of the loopback address.",
    isList: true,
    parse: (text) => parseList(text).map(parseHost),
  },
  trustedProxies: {
    env: "SHEAF_TRUSTED_PROXIES",
    flag: { name: "trusted-proxies", operand: "networks" },
    default: "",
    doc: "Addresses and networks of proxies, separated by commas (10.0.0.0/8, ::1). X-Forwarded-For is trusted only from these; they are exempt from --max-connections-per-address.",
    isList: true,
    parse: (text) => parseList(text).map(parseNetwork),
  },
  maxConnections: countSetting("max-connections", {
    operand: "number",
    initial: 2_048,
    doc: "Maximum number of open connections. Beyond it idle ones are closed, then requests on new ones are answered with 503. 0 means no limit.",
  }),
  maxConnectionsPerAddress: countSetting("max-connections-per-address", {
    operand: "number",
    initial: 512,
    doc: "Maximum number of open connections of one client address, or one /64 network of IPv6. 0 means no limit.",
  }),
  idleConnectionSeconds: countSetting("idle-connection-seconds", {
    operand: "seconds",
    initial: 75,
    doc: "How long an idle connection stays open. Set it higher than the keep-alive timeout of a proxy in front.",
    least: 1,
    most: MOST_IDLE_SECONDS,
  }),
  strict: {
    env: "SHEAF_STRICT",
    flag: { name: "strict", operand: "on|off" },
    default: "off",
    doc: "Whether requests are refused with 400 that ask for what Chroma has not: the extensions of GET /api/v2/pre-flight-checks. The header x-sheaf-strict: 1 does so for a single request.",
    parse: parseSwitch,
  },
  metricsHost: {
    env: "SHEAF_METRICS_HOST",
    flag: { name: "metrics-host", operand: "address" },
    default: "127.0.0.1",
    doc: "Address that --metrics-port listens on. Whoever reaches it reads the metrics without a key.",
    parse: (text) => text,
  },
};

function parseHost(text: string): string {
  const name = hostName(isIP(text) === 6 ? `[${text}]` : text);
  if (name === null || name !== text.toLowerCase()) {
    throw new SettingError(`"${text}" is not a host name such as sheaf.example.org, without port`);
  }
  return name;
}

function parseNetwork(text: string): string {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const valid = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (bits < 0 || !valid || rest.length > 0) {
    throw new SettingError(`"${text}" is not an address or a network such as 10.0.0.0/8`);
  }
  return text;
}
