/** One request of a command to a running server: JSON there, JSON back, and its own words where it refuses. */
import { SheafError } from "@sheaf/protocol";
import { readServerAddress } from "../config.ts";
import type { CommandOption } from "./command.ts";

/** Options of every command that speaks to a server. */
export const SERVER_OPTIONS: readonly CommandOption[] = [
  { flags: "--url <url>", doc: "URL of the server. [SHEAF_URL, default http://127.0.0.1:8000]" },
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

  constructor(status: number, message: string) {
    super(message);
    this.code = `HTTP_${status}`;
  }
}

export interface ServerRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Under the server's URL. */
  readonly path: string;
  readonly json?: unknown;
}

/** @throws ServerRefusal for an answer that is no success, `unavailable` where no server answers. */
export async function askServer<T>(
  { method, path, json }: ServerRequest,
  options: { readonly url?: string | undefined; readonly key?: string | undefined },
): Promise<T> {
  const { url, key } = readServerAddress(options);
  const headers = {
    ...(key === null ? {} : { "x-service-token": key }),
    ...(json === undefined ? {} : { "content-type": "application/json" }),
  };
  const body = json === undefined ? null : JSON.stringify(json);
  const response = await reach(`${url}${path}`, { method, headers, body }, url);
  const text = await response.text();
  if (response.status === UNAUTHORIZED && key === null)
    throw new ServerRefusal(response.status, "the server requires an API key; set SHEAF_KEY or --key");
  if (!response.ok)
    throw new ServerRefusal(response.status, messageOf(text) ?? `${url} said ${response.status}`);
  return JSON.parse(text) as T;
}

async function reach(address: string, init: RequestInit, url: string): Promise<Response> {
  try {
    return await fetch(address, init);
  } catch (error) {
    throw new SheafError("unavailable", `no server answers at ${url}; name another with --url`, {
      cause: error,
    });
  }
}

function messageOf(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text);
    const isRefusal = typeof body === "object" && body !== null && "message" in body;
    return isRefusal && typeof body.message === "string" ? body.message : null;
  } catch {
    // A proxy's page, not an answer of ours.
    return null;
  }
}
