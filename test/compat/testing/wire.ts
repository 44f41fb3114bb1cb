/** Requests as they stand on the wire, for what no shipped client sends or shows: statuses, headers, exact bodies. */
import { ROOT_KEY, type ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

export const DATABASE = "/api/v2/tenants/default_tenant/databases/default_database";

export interface Question {
  /** `POST` with a body, else `GET`. */
  readonly method?: string;
  readonly path: string;
  readonly json?: unknown;
  /** A body to send as it is. */
  readonly body?: string | Uint8Array;
  /** Beside a key and `Content-Type: application/json`; `null` removes one of them. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export async function ask(served: ServedSheaf, question: Question): Promise<Answer> {
  const { method, path, json, headers } = question;
  const body = question.body ?? (json === undefined ? null : JSON.stringify(json));
  const response = await fetch(`${served.url}${path}`, {
    method: method ?? (body === null ? "GET" : "POST"),
    headers: requestHeaders(headers ?? {}, body !== null),
    body: body === null || typeof body === "string" ? body : new Uint8Array(body),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The parsed body of an answer that has to be a success. */
export async function expectOk<T>(served: ServedSheaf, question: Question): Promise<T> {
  const { status, text } = await ask(served, question);
  if (status >= 300) throw new Error(`${question.path}: ${status} ${text}`);
  return JSON.parse(text) as T;
}

/** Makes a collection and gives the path of its record routes. */
export async function newCollection(served: ServedSheaf, json: object): Promise<string> {
  const { id } = await expectOk<{ id: string }>(served, { path: `${DATABASE}/collections`, json });
  return `${DATABASE}/collections/${id}`;
}

function requestHeaders(
  own: Readonly<Record<string, string | null>>,
  hasBody: boolean,
): Record<string, string> {
  const all = {
    "x-chroma-token": ROOT_KEY,
    ...(hasBody ? { "content-type": "application/json" } : {}),
    ...own,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}
