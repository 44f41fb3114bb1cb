/** A queue that serves owners in turn, one item of each; the items of one owner in the order they came, unless told otherwise. */
export class TurnQueue<T> {
  /** Owners with items, the next to serve first. */
  readonly #items = new Map<string, T[]>();
  #size = 0;

  /** Items of all owners. */
  get size(): number {
    return this.#size;
  }

  /** @param goesBefore Whether the item goes before another one of its owner; by default before none. */
  push(owner: string, item: T, goesBefore: (other: T) => boolean = () => false): void {
    const items = this.#items.get(owner) ?? [];
    const place = items.findIndex(goesBefore);
    items.splice(place < 0 ? items.length : place, 0, item);
    this.#items.set(owner, items);
    this.#size++;
  }

  /** `undefined` if nothing waits. */
  shift(): T | undefined {
    const [next] = this.#items;
    if (next === undefined) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.#items.delete(owner);
    // Behind the others, if it has more.
    if (items.length > 0) this.#items.set(owner, items);
    this.#size--;
    return item;
  }

  /** `false`: it does not wait, or not any more. */
  remove(owner: string, item: T): boolean {
    const items = this.#items.get(owner);
    const place = items?.indexOf(item) ?? -1;
    if (items === undefined || place < 0) return false;
    items.splice(place, 1);
    if (items.length === 0) this.#items.delete(owner);
    this.#size--;
    return true;
  }

  /** Removes and gives everything. */
  clear(): T[] {
    const all = [...this.#items.values()].flat();
    this.#items.clear();
    this.#size = 0;
    return all;
  }
}
