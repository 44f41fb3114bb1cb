/** A count of things as a person reads it: `several(1, "record")` is "1 record", of 2 "2 records". */
export function several(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
