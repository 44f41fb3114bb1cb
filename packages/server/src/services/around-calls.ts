/** Puts something around every method of an object: what has to happen for all of them is said once. */

export type Method = (...args: readonly unknown[]) => unknown;

/** Is asked once for each method, which comes bound to its object; gives what callers get in its place. */
export type Wrap = (name: string, method: Method) => Method;

/** The methods that the object has now, as `wrap` gives them; what is no method is read from the object each time. */
export function aroundCalls<T extends object>(target: T, wrap: Wrap): T {
  const around: Record<string, unknown> = {};
  for (const name of memberNames(target)) {
    const read = (): unknown => Reflect.get(target, name, target);
    const member = read();
    if (typeof member === "function") around[name] = wrap(name, (member as Method).bind(target));
    else Object.defineProperty(around, name, { get: read, enumerable: true });
  }
  return around as T;
}

/** Those of its classes too. */
function memberNames(target: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (
    let holder: object | null = target;
    holder !== null && holder !== Object.prototype;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(holder)) if (name !== "constructor") names.add(name);
  }
  return names;
}
