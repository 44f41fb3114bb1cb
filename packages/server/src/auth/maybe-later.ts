/**
 * A value that is there at once where it can be. What is always a promise costs every request its turns of the queue, even
 * where nothing has to be waited for, as with the root key of a server without bounds.
 */
export type MaybeLater<T> = T | Promise<T>;

/** What `next` makes of the value, at once where that is there. */
export function andThen<T, U>(value: MaybeLater<T>, next: (value: T) => MaybeLater<U>): MaybeLater<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
