/** Puts something around every method call of an object: what has to happen for all of them is said once. */

/** Runs `call`, which has these arguments, and may do something before and after; gives what the caller gets. */
export type Around = (method: string, call: () => unknown, args: readonly unknown[]) => unknown;

type Method = (...args: readonly unknown[]) => unknown;

export function aroundCalls<T extends object>(target: T, around: Around): T {
  const wrapped = new Map<string, Method>();
  return new Proxy(target, {
    get(object, name) {
      const known = typeof name === "string" ? wrapped.get(name) : undefined;
      if (known !== undefined) return known;
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== "function" || typeof name !== "string") return member;
      const method: Method = (...args) => around(name, () => Reflect.apply(member, object, args), args);
      wrapped.set(name, method);
      return method;
    },
  });
}
