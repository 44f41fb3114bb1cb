/** A queue that serves owners in turn, one item of each; the items of one owner in the order they came. */
export class TurnQueue<T> {
  /** Owners with items, the next to serve first. */
  readonly #items = new Map<string, T[]>();

  get empty(): boolean {
    return this.#items.size === 0;
  }

  push(owner: string, item: T): void {
    const items = this.#items.get(owner);
    if (items === undefined) this.#items.set(owner, [item]);
    else items.push(item);
  }

  /** `undefined` if nothing waits. */
  shift(): T | undefined {
    const [next] = this.#items;
    if (next === undefined) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.#items.delete(owner);
    if (items.length > 0) this.#items.set(owner, items);
    return item;
  }

  /** Removes and gives everything. */
  clear(): T[] {
    const all = [...this.#items.values()].flat();
    this.#items.clear();
    return all;
  }
}
