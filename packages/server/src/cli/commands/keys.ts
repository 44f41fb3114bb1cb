/** `sheaf keys …`: API keys of a running server. A new key is printed once, alone on stdout. */
import { SheafError, parseCreateKey, parseRotateKey } from "@sheaf/protocol";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command, OptionTexts } from "../command.ts";
import { SERVER_OPTIONS, type ServerRequest, askServer } from "../server-request.ts";

/** As the server describes a key; `key` only when it has just been made. */
interface KeyReply {
  readonly id: string;
  readonly key?: string;
  readonly name: string;
  readonly tenant: string | null;
  readonly database: string | null;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly replaced_by: string | null;
}

const KEYS = "/api/v2/keys";
const EXPIRES = { flags: "--expires-at <time>", doc: "Expiry time, such as 2030-01-31T12:00:00Z." };

export const keysCreate: Command = {
  name: "keys create",
  summary: "Create an API key and print it. It cannot be shown again.",
  options: [
    { flags: "--name <name>", doc: "Required. Name shown in `sheaf keys list`." },
    { flags: "--scopes <scopes>", doc: "Required. Scopes, separated by commas: embed, read, write, admin." },
    {
      flags: "--tenant <tenant>",
      doc: "Restrict the key to this tenant. Required unless --all-tenants is given.",
    },
    { flags: "--all-tenants", doc: "Make the key valid for all tenants." },
    { flags: "--database <database>", doc: "Restrict the key to this database of the tenant." },
    EXPIRES,
    { flags: "--requests-per-minute <number>", doc: "Overrides the server's limit; 0 means no limit." },
    { flags: "--tokens-per-minute <number>", doc: "Overrides the server's limit; 0 means no limit." },
    { flags: "--concurrent-requests <number>", doc: "Overrides the server's limit; 0 means no limit." },
    ...SERVER_OPTIONS,
  ],
  run(options) {
    const json = newKey(options);
    refuseWrong(json, parseCreateKey);
    return issue({ method: "POST", path: KEYS, json }, options);
  },
};

export const keysList: Command = {
  name: "keys list",
  summary: "List API keys, oldest first.",
  options: [{ flags: "--tenant <tenant>", doc: "Only keys of this tenant." }, ...SERVER_OPTIONS],
  async run(options) {
    const { tenant } = options;
    const all = await askServer<readonly KeyReply[]>({ method: "GET", path: KEYS }, options);
    const keys = tenant === undefined ? all : all.filter((key) => key.tenant === tenant);
    if (options["json"] !== undefined) console.log(JSON.stringify(keys, null, 2));
    else if (keys.length === 0)
      console.log(tenant === undefined ? "no keys besides the root key" : `no keys of tenant ${tenant}`);
    else for (const key of keys) console.log(describe(key));
    return 0;
  },
};

export const keysRevoke: Command = {
  name: "keys revoke",
  summary: "Revoke an API key immediately.",
  operands: ["id"],
  options: SERVER_OPTIONS,
  async run(options, [id = ""]) {
    await askServer({ method: "DELETE", path: pathOf(id) }, options);
    console.log(options["json"] === undefined ? `revoked ${id}` : JSON.stringify({ id }));
    return 0;
  },
};

export const keysRotate: Command = {
  name: "keys rotate",
  summary: "Replace an API key and print the new one. The old key stays valid for an overlap.",
  operands: ["id"],
  options: [
    {
      flags: "--overlap-seconds <seconds>",
      doc: "How long the old key stays valid. The default is the server's setting.",
    },
    EXPIRES,
    ...SERVER_OPTIONS,
  ],
  run(options, [id = ""]) {
    const json = {
      overlap_seconds: numberOf(options, "overlapSeconds", "overlap-seconds"),
      expires_at: options["expiresAt"],
    };
    refuseWrong(json, parseRotateKey);
    return issue({ method: "POST", path: `${pathOf(id)}/rotate`, json }, options);
  },
};

async function issue(request: ServerRequest, options: OptionTexts): Promise<number> {
  const made = await askServer<KeyReply>(request, options);
  if (options["json"] !== undefined) {
    console.log(JSON.stringify(made, null, 2));
    return 0;
  }
  // To stderr, so that KEY=$(sheaf keys create …) has the key alone.
  console.error(`${describe(made)}\nThe key, shown this once:`);
  console.log(made.key);
  return 0;
}

function newKey(options: OptionTexts): object {
  const { name, scopes, tenant, allTenants, database } = options;
  const noTenant = tenant === undefined && allTenants === undefined;
  if (name === undefined || scopes === undefined || noTenant) throw missing(options);
  if (tenant !== undefined && allTenants !== undefined)
    throw new SettingError("--tenant and --all-tenants: give only one");
  return {
    name,
    tenant: tenant ?? null,
    database,
    scopes: scopes.split(",").map((scope) => scope.trim()),
    expires_at: options["expiresAt"],
    limits: {
      requests_per_minute: numberOf(options, "requestsPerMinute", "requests-per-minute"),
      tokens_per_minute: numberOf(options, "tokensPerMinute", "tokens-per-minute"),
      concurrent_requests: numberOf(options, "concurrentRequests", "concurrent-requests"),
    },
  };
}

/** What the server would refuse is refused here by the name of the option, but for what only the server's clock tells. */
function refuseWrong(json: object, parse: (body: unknown, now: number) => unknown): void {
  try {
    parse(JSON.parse(JSON.stringify(json)), -Infinity);
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    const [, member = "", words = ""] = /^(?:limits\.)?(\w+)[^:]*: (.*)$/su.exec(error.message) ?? [];
    if (member === "") throw error;
    throw new SettingError(`--${member.replaceAll("_", "-")}: ${words}`, { cause: error });
  }
}

/** All of them at once, so that one correction is enough. */
function missing({ name, scopes, tenant, allTenants }: OptionTexts): SettingError {
  const flags = [
    ...(name === undefined ? ["--name"] : []),
    ...(scopes === undefined ? ["--scopes"] : []),
    ...(tenant === undefined && allTenants === undefined ? ["--tenant or --all-tenants"] : []),
  ];
  const [only = ""] = flags;
  return new SettingError(flags.length === 1 ? `${only} is required` : `required: ${flags.join("; ")}`);
}

function numberOf(options: OptionTexts, name: string, flag: string): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new SettingError(`--${flag}: must be a whole number`);
  return Number(text);
}

function pathOf(id: string): string {
  return `${KEYS}/${encodeURIComponent(id)}`;
}

function describe(key: KeyReply): string {
  const bound = [key.tenant ?? "all tenants", ...(key.database === null ? [] : [key.database])].join("/");
  const end =
    key.replaced_by === null
      ? `expires ${key.expires_at ?? "never"}`
      : `replaced by ${key.replaced_by}, ends ${key.expires_at ?? "never"}`;
  const used = `last used ${key.last_used_at ?? "never"}`;
  return [key.id, key.name, bound, key.scopes.join(","), end, used].join("  ");
}
