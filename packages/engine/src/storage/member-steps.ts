/** Members of an array in metadata between two pauses: about a millisecond where they are texts. */
export const MEMBERS_PER_STEP = 4_096;

/** `visit` for each of `count` members, in steps. */
export function* eachMember(count: number, visit: (at: number) => void): Generator<void, void> {
  for (let at = 0; at < count; at++) {
    visit(at);
    if (at % MEMBERS_PER_STEP === MEMBERS_PER_STEP - 1) yield;
  }
}
