/** Requests of commands to a running server, through its client, and in the server's own words where it refuses. */
import { AuthorizationError, SheafApiError, SheafClient, UnreachableError } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { readServerAddress } from "../config.ts";
import type { CommandOption } from "./command.ts";

export const SERVER_URL_OPTION: CommandOption = {
  flags: "--url <url>",
  doc: "URL of the server. [SHEAF_URL, default http://127.0.0.1:8000]",
};

/** Options of every command that speaks to a server. */
export const SERVER_OPTIONS: readonly CommandOption[] = [
  SERVER_URL_OPTION,
  {
    flags: "--key <key>",
    doc: "API key with the required scope. Prefer the environment variable. [SHEAF_KEY]",
  },
  { flags: "--json", doc: "Print the answer of the server as JSON." },
];

const UNAUTHORIZED = 401;

/** What the server said instead of doing it. */
export class ServerRefusal extends Error {
  override readonly name = "ServerRefusal";
  /** Shown without a stack, as the errors of the system are. */
  readonly code: string;

  constructor(status: number, message: string, cause: unknown) {
    super(message, { cause });
    this.code = `HTTP_${status}`;
  }
}

export interface ServerRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Under the server's URL. */
  readonly path: string;
  readonly json?: unknown;
  /** Whether it is sent again where the server is busy. By default what only reads is. */
  readonly repeatable?: boolean;
}

interface ServerOptions {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
}

/** The server's JSON. @throws as `withServer` does. */
export function askServer<T>(
  { method, path, json, repeatable = method === "GET" }: ServerRequest,
  options: ServerOptions,
): Promise<T> {
  return withServer(options, (client) => client.request<T>({ method, path, json, repeatable }));
}

/**
 * A command waits as long as the server takes: whoever started it can end it.
 *
 * @throws ServerRefusal for an answer that is no success, `unavailable` where no server answers.
 */
export async function withServer<T>(
  options: ServerOptions,
  ask: (client: SheafClient) => Promise<T>,
): Promise<T> {
  const { url, key } = readServerAddress(options);
  const client = new SheafClient({ url, key: key ?? undefined, timeoutMs: Number.POSITIVE_INFINITY });
  try {
    return await ask(client);
  } catch (cause) {
    if (cause instanceof UnreachableError) throw unreachable(url, cause);
    if (!(cause instanceof SheafApiError)) throw cause;
    const needsKey = cause instanceof AuthorizationError && cause.status === UNAUTHORIZED && key === null;
    const message = needsKey
      ? "the server requires an API key; set SHEAF_KEY or --key"
      : inCommands(cause.message);
    throw new ServerRefusal(cause.status, message, cause);
  }
}

/** The server names the request that makes what is missing; at a shell that is a command. */
function inCommands(message: string): string {
  const [, kind, name = "", tenant] =
    /^(Tenant|Database) \[(.*)\] not found; create it first, with POST \/api\/v2\/tenants(?:\/([^/]+)\/databases)?$/su.exec(
      message,
    ) ?? [];
  if (kind === "Tenant")
    return `Tenant [${name}] not found; create it first, with: sheaf tenants create ${name}`;
  if (tenant === undefined) return message;
  const command = `sheaf databases create ${name} --tenant ${decodeURIComponent(tenant)}`;
  return `Database [${name}] not found; create it first, with: ${command} (--database names another one)`;
}

export function unreachable(url: string, cause: UnreachableError): SheafError {
  return new SheafError("unavailable", whyUnreachable(url, cause), { cause });
}

function whyUnreachable(url: string, cause: UnreachableError): string {
  const code = codeOf(cause);
  if (code === OTHER_NAME) return `${cause.message}; name the server by a name that is in its certificate`;
  if (DISTRUSTED.test(code))
    return `${cause.message}; NODE_EXTRA_CA_CERTS names a file of certificates that are trusted beside those of Node.js`;
  // Something listens there, and ends a connection on which it is spoken to in clear.
  const mayBeTls = url.startsWith("http:") && code === ENDED;
  const hint = mayBeTls ? ", or with https if it speaks TLS" : "";
  return `no server answers at ${url}; name another with --url${hint}`;
}

const OTHER_NAME = "ERR_TLS_CERT_ALTNAME_INVALID";
const DISTRUSTED = /CERT|VERIFY_LEAF/u;
const ENDED = "UND_ERR_SOCKET";

/** `fetch` has the reason in its cause. */
function codeOf({ cause }: UnreachableError): string {
  const { code = "" } = ((cause as Error | undefined)?.cause ?? {}) as { readonly code?: string };
  return code;
}
