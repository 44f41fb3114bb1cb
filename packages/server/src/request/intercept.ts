/** Wraps every method of an object, for what has to happen around each call: timing, invalidation. */

export type Method = (...args: readonly unknown[]) => unknown;

/** Called once per method, which is bound to its object; returns the function that callers get instead. */
export type Wrap = (name: string, method: Method) => Method;

/** An object with the wrapped methods of `target`. Properties that are not methods are read from `target` each time. */
export function intercept<T extends object>(target: T, wrap: Wrap): T {
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
