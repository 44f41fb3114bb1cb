/**
 * What a route is: a method, a path, whom it serves, and a handler from a `Call` to a `Reply`. Handlers never meet
 * the HTTP framework, and a reply's body is JSON that a writer has made.
 */
import type { ExtensionName } from "@sheaf/protocol";
import type { PathParams, RouteAccess } from "../auth/authorize.ts";
import type { Principal } from "../auth/principal.ts";
import type { BodyParserName, ParsedBody, ParserArguments } from "../bodies/body-parsers.ts";
import type { MaybePromise } from "../request/maybe-promise.ts";
import type { RouteDescription } from "./route-description.ts";
import type { ReplyBody } from "../replies/reply-body.ts";
import type { RequestBudget } from "../request/request-context.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Which error body a route answers with: `{error, message}` or, on the embedding endpoints, `{error}`. */
export type Surface = "v2" | "embed";

/** One request as its handler sees it; the caller is known and may be here. */
export interface Call {
  readonly params: PathParams;
  readonly query: Readonly<Record<string, unknown>>;
  readonly principal: Principal;
  /** Signal and time of this request. */
  readonly budget: RequestBudget;
  /** It may ask for nothing that Chroma has not. */
  readonly strict: boolean;
  /** A header's value, `null` where it is missing or empty. */
  header(name: string): string | null;
  /**
   * The body as one of `BODY_PARSERS` gives it: at once, or where it is large, when another thread has parsed it. Throws or
   * rejects as the parser does, with 400 for text that is no JSON, and 415 for another Content-Type where the route minds it.
   */
  parse<Name extends BodyParserName>(
    parser: Name,
    ...args: ParserArguments<Name>
  ): MaybePromise<ParsedBody<Name>>;
}

export interface Reply {
  readonly status: number;
  /** JSON, unless the headers name another `content-type`. */
  readonly body: string | ReplyBody;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route extends RouteAccess {
  readonly method: Method;
  /** With `:name` for parameters. */
  readonly path: string;
  /** `v2` unless it says otherwise. */
  readonly surface?: Surface;
  /** For the API description; a route without one is in none of the documents. */
  readonly description?: RouteDescription;
  /** Status of a body over the size limit, 413 unless the route's contract declares none. */
  readonly tooLargeStatus?: 400 | 413;
  /** Chroma has no such route. */
  readonly extension?: ExtensionName;
  /** Every answer says so, whatever its status. */
  readonly deprecated?: boolean;
  /**
   * For a path that names its tenant in another way: the names it stands for. They are authorized before the handler
   * runs, and are the `params` of its call. Present exactly where `tenant` is `located`.
   */
  locate?(params: PathParams): Promise<PathParams>;
  handle(call: Call): Reply | Promise<Reply>;
}

export function ok(body: Reply["body"], headers?: Readonly<Record<string, string>>): Reply {
  return headers === undefined ? { status: 200, body } : { status: 200, body, headers };
}

/** 200 `{}`. */
export const DONE: Reply = Object.freeze(ok("{}"));
