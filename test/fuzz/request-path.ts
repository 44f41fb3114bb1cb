/** Paths and query strings: names that exist, names that do not, and what no name is. */
import type { Dice } from "./dice.ts";
import { hostileText } from "./hostile-values.ts";

/** Parameter of a path -> what usually stands there. `{{...}}` is known when the request is sent. */
const KNOWN: Readonly<Record<string, readonly (readonly [weight: number, text: string])[]>> = {
  tenant: [
    [15, "default_tenant"],
    [1, "fuzzed_tenant"],
  ],
  database: [
    [15, "default_database"],
    [1, "fuzzed_database"],
  ],
  collection: [
    [14, "{{docs}}"],
    [3, "{{texts}}"],
    [2, "{{empty}}"],
    [2, "docs"],
    [1, "00000000-0000-4000-8000-000000000000"],
  ],
  crn: [
    [3, "default_tenant:default_database:docs"],
    [1, "::"],
    [1, "a:b"],
    [1, "a:b:c:d"],
  ],
  key: [
    [3, "{{key}}"],
    [1, "key_none"],
  ],
  file: [
    [1, "swagger-ui.css"],
    [1, "swagger-ui-bundle.js"],
    [1, "..%2f..%2fpackage.json"],
    [1, "index.html"],
  ],
};
const UNKNOWN = [[1, "some"]] as const;
const ENCODED = [
  "%",
  "%2",
  "%zz",
  "%00",
  "%2F",
  "%2e%2e",
  "%25",
  "%ff",
  "%c0%af",
  "%ed%a0%80",
  "+",
  "%20",
  "~",
  ";a=b",
];
const STRAY = ["//", "/./", "/../", "/%2e%2e/", "?", "#", "/*", "/:collection", "\\", "/", "%"];
const QUERY_VALUES = [
  "0",
  "1",
  "-1",
  "10001",
  "1e3",
  "",
  "null",
  "9007199254740993",
  "index_and_wal",
  "a%00",
  "%",
  "[]",
];
const LONG_NAME = 2_000;

export function pathOf(pattern: string, dice: Dice): string {
  return pattern.replaceAll(/:(\w+)|\*/gu, (_whole, name: string | undefined) => {
    if (dice.chance(0.05)) return hostileSegment(dice);
    return name === undefined ? dice.pick(["heartbeat", "a/b/c", ""]) : dice.weighted(KNOWN[name] ?? UNKNOWN);
  });
}

function hostileSegment(dice: Dice): string {
  if (dice.chance(0.1)) return "x".repeat(dice.below(LONG_NAME));
  if (dice.chance(0.4)) return dice.pick(ENCODED);
  return encodeURIComponent(hostileText(dice).slice(0, LONG_NAME));
}

export function mutatedPath(path: string, dice: Dice): string {
  const at = dice.below(path.length + 1);
  return dice.weighted<() => string>([
    [3, () => path.slice(0, at) + dice.pick(STRAY) + path.slice(at)],
    [2, () => path.slice(0, Math.max(1, at))],
    [1, () => `${path}/`],
    [1, () => `${path}/${hostileSegment(dice)}`],
    [1, () => path.toUpperCase()],
    [1, () => dice.pick(["*", "/", "//", "http://127.0.0.1/livez", "/livez?", "/é", `/${"a/".repeat(500)}`])],
  ])();
}

export function queryString(names: readonly string[], dice: Dice): string {
  if (!dice.chance(names.length > 0 ? 0.7 : 0.05)) return "";
  const known = [...names, "limit", "__proto__", "a", "%00", ""];
  const pairs = Array.from({ length: 1 + dice.below(3) }, () => {
    const name = names.length > 0 && dice.chance(0.8) ? dice.pick(names) : dice.pick(known);
    return dice.chance(0.05) ? name : `${name}=${dice.pick(QUERY_VALUES)}`;
  });
  return `?${pairs.join("&")}`;
}
