/** What one lane of the torture has in its database, immutable: every operation makes a new one from the one before. */

/** id -> value of the write that made it what it is. */
export type Records = ReadonlyMap<string, number>;

export interface LaneCollection {
  /** `null`: the answer that held it got lost. */
  readonly id: string | null;
  /** In its metadata. */
  readonly mark: number;
  readonly records: Records;
}

/** By name. */
export type LaneState = ReadonlyMap<string, LaneCollection>;

/** `null`: it is not there any more. */
export function withCollection(state: LaneState, name: string, collection: LaneCollection | null): LaneState {
  const copy = new Map(state);
  if (collection === null) copy.delete(name);
  else copy.set(name, collection);
  return copy;
}

/** One line that says all of it, ids of collections aside: they may be unknown. */
export function describeState(state: LaneState): string {
  const collections = [...state].map(([name, { mark, records }]) => {
    const held = [...records].map(([id, value]) => `${id}=${value}`).toSorted();
    return `${name}(${mark}): ${held.join(" ")}`;
  });
  return collections.toSorted().join("\n");
}

/** Where two differ, in few words. */
export function difference(expected: LaneState, found: LaneState): readonly string[] {
  const lines: string[] = [];
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    const [one, other] = [expected.get(name), found.get(name)];
    if (one === undefined || other === undefined) {
      lines.push(`collection ${name}: ${one === undefined ? "was not to be there" : "is not there"}`);
      continue;
    }
    if (one.mark !== other.mark) lines.push(`collection ${name}: mark ${other.mark} instead of ${one.mark}`);
    const ids = new Set([...one.records.keys(), ...other.records.keys()]);
    const wrong = [...ids].filter((id) => one.records.get(id) !== other.records.get(id));
    if (wrong.length > 0)
      lines.push(
        `collection ${name}: ${wrong.length} records, ${wrong
          .slice(0, 3)
          .map((id) => `${id} is ${other.records.get(id)} instead of ${one.records.get(id)}`)
          .join(", ")}`,
      );
  }
  return lines;
}
