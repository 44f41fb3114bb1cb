/** Puts something around every method call of an object: what has to happen for all of them is said once. */

/** Runs `call`, and may do something before and after; gives what the caller gets. */
export type Around = (method: string, call: () => unknown) => unknown;

export function aroundCalls<T extends object>(target: T, around: Around): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: readonly unknown[]) => around(name, () => Reflect.apply(member, object, args));
    },
  });
}
