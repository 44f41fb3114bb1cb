/** One of two servers that are sent the same steps: it keeps which ids and names its collections have. */
import { readJson } from "@sheaf/protocol";
import { type Step, memberOf, nameOf, requestOf } from "./step.ts";

export interface ServerAddress {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answer {
  /** 0: the connection was dropped. */
  readonly status: number;
  /** As `readJson` gives it, so that `2` and `2.0` differ; a text that is no JSON is one. */
  readonly body: unknown;
}

interface Made {
  readonly id: string;
  readonly name: string;
}

const TENANT = "/api/v2/tenants/default_tenant/databases";
const REQUEST_MS = 20_000;

export class Contestant {
  readonly name: string;
  readonly #address: ServerAddress;
  readonly #database: string;
  readonly #ids = new Map<number, string>();
  readonly #names = new Map<number, string>();

  private constructor(address: ServerAddress, database: string) {
    this.name = address.name;
    this.#address = address;
    this.#database = database;
  }

  /** With a database of its own, which is new. */
  static async enter(address: ServerAddress, database: string): Promise<Contestant> {
    const contestant = new Contestant(address, database);
    const made = await contestant.#send("POST", TENANT, `{"name":"${database}"}`);
    if (made.status !== 200) throw new Error(`${address.name}: no database: ${JSON.stringify(made.body)}`);
    return contestant;
  }

  async perform(step: Step): Promise<Answer> {
    const { slot, verb } = step;
    const known = { id: this.#ids.get(slot) ?? null, name: this.#names.get(slot) ?? nameOf(slot) };
    const { method, path, body } = requestOf(step, known);
    const answer = await this.#send(method, `${TENANT}/${this.#database}${path}`, body);
    if (answer.status < 300) {
      if (verb === "create") this.#made(slot, answer.body as Made);
      if (verb === "drop") this.#forget(slot);
      const renamed = memberOf(step, "new_name");
      if (verb === "modify" && typeof renamed === "string") this.#names.set(slot, renamed);
    }
    return answer;
  }

  #made(slot: number, { id, name }: Made): void {
    this.#ids.set(slot, id);
    this.#names.set(slot, name);
  }

  #forget(slot: number): void {
    this.#ids.delete(slot);
    this.#names.delete(slot);
  }

  async #send(method: string, path: string, body: string | null): Promise<Answer> {
    try {
      return await this.#ask(method, path, body);
    } catch (error) {
      return { status: 0, body: String(error instanceof Error ? (error.cause ?? error) : error) };
    }
  }

  async #ask(method: string, path: string, body: string | null): Promise<Answer> {
    const response = await fetch(`${this.#address.url}${path}`, {
      method,
      headers: { ...this.#address.headers, ...(body === null ? {} : { "content-type": "application/json" }) },
      body,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, body: bodyOf(bytes) };
  }
}

function bodyOf(bytes: Uint8Array): unknown {
  try {
    return readJson(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** The `error` of a refusal; `null` where the body has none. */
export function errorName({ body }: Answer): string | null {
  const error: unknown = (body as { readonly error?: unknown } | null)?.error;
  return typeof error === "string" ? error : null;
}
