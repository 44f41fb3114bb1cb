/**
 * A value, or a promise of it. Awaiting a promise costs every request several turns of the microtask queue; a value that
 * is known already, such as the principal of the root key, is used without them.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next`: to a value synchronously, to a promise when it resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
