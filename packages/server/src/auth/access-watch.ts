/**
 * Ends requests in flight whose access ends: their key was removed or has expired (401), or the tenant or database that
 * they were admitted for was removed (404). A request is admitted once, when its headers are there; its body, a thread
 * that parses it, models and queues may take minutes after that. Requests are admitted by name, so whatever makes a
 * tenant or database waits until those that the same name admitted before have been ended.
 */
import type { DatabaseRef, Engine } from "@sheaf/engine";
import { SheafError } from "@sheaf/protocol";
import { type Method, intercept } from "../request/intercept.ts";
import type { DeadlineRegistry, RequestAccess, RequestContext } from "../request/request-context.ts";
import type { PathParams } from "./authorize.ts";
import type { KeyEnd } from "./key-end.ts";
import { keyNotValid } from "./key-store.ts";
import type { Principal } from "./principal.ts";

/** Whether, and as what, a request has lost what it was admitted for. */
type Loss = (access: RequestAccess) => SheafError | null;

export class AccessWatch {
  readonly #requests: DeadlineRegistry;
  readonly #now: () => number;
  /** Of this turn: a request may be on its way to its admission with a key that was looked up before. */
  #justEnded: KeyEnd[] = [];
  /** Removals under way. */
  readonly #removals = new Set<Promise<unknown>>();

  /** @param now Milliseconds since 1970. */
  constructor(requests: DeadlineRegistry, now: () => number) {
    this.#requests = requests;
    this.#now = now;
  }

  /** From here on the request ends with its access. */
  admit(request: RequestContext, principal: Principal, params: PathParams): void {
    const { id, expires } = principal;
    const { tenant = null, database = null } = params;
    const owner = tenant ?? principal.tenant;
    const access: RequestAccess = { key: principal, tenant, database };
    request.belongsTo(owner === null ? `key:${id}` : `tenant:${owner}`, access);
    if (expires !== undefined && expires !== null) request.endAccess(keyNotValid(), expires - this.#now());
    for (const end of this.#justEnded) this.#endKey(request, access, end);
  }

  /** Keys that are not valid from a time on. All requests are looked through once, however many keys end. */
  readonly keysEnd = (end: KeyEnd): void => {
    for (const [request, access] of this.#requests.admitted()) this.#endKey(request, access, end);
    if (this.#justEnded.length === 0) setImmediate(() => (this.#justEnded = []));
    this.#justEnded.push(end);
  };

  #endKey(request: RequestContext, { key }: RequestAccess, { includes, at }: KeyEnd): void {
    if (includes(key)) request.endAccess(keyNotValid(), Math.min(at, key.expires ?? Infinity) - this.#now());
  }

  /** The engine, with the requests ended that each removal leaves without their tenant or database. */
  watch(engine: Engine): Engine {
    const around: Readonly<Record<string, (method: Method) => Method>> = {
      deleteTenant: (method) => (name) =>
        this.#removing(method(name), ({ tenant }) =>
          tenant !== null && tenant === name ? noTenant(tenant) : null,
        ),
      deleteDatabase: (method) => (ref) => {
        const of = ref as DatabaseRef;
        return this.#removing(method(ref), ({ tenant, database }) =>
          tenant === of.tenant && database === of.database ? noDatabase(of.database) : null,
        );
      },
      reset: (method) => () =>
        this.#removing(method(), ({ tenant }) => (tenant === null ? null : noTenant(tenant))),
      createTenant: (method) => (name) => this.#making(() => method(name)),
      createDatabase: (method) => (ref) => this.#making(() => method(ref)),
    };
    return intercept(engine, (name, method) => around[name]?.(method) ?? method);
  }

  async #removing(call: unknown, lossOf: Loss): Promise<unknown> {
    const removal = Promise.resolve(call).then(
      () => this.#end(lossOf),
      (error: unknown) => {
        // Removed before, perhaps by a call whose outcome nobody has heard.
        if (error instanceof SheafError && error.code === "not_found") this.#end(lossOf);
      },
    );
    this.#removals.add(removal);
    await removal;
    this.#removals.delete(removal);
    return call;
  }

  async #making(call: () => unknown): Promise<unknown> {
    await Promise.all(this.#removals);
    return call();
  }

  #end(lossOf: Loss): void {
    for (const [request, access] of this.#requests.admitted()) {
      const loss = lossOf(access);
      if (loss !== null) request.endAccess(loss, 0);
    }
  }
}

function noTenant(name: string): SheafError {
  return new SheafError("not_found", `Tenant [${name}] not found`);
}

function noDatabase(name: string): SheafError {
  return new SheafError("not_found", `Database [${name}] not found`);
}
