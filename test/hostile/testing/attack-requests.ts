/** The requests that hostile tenants send, for the tests of this lane and for `npm run bench:fair`. */

/** Of the write of integers: records, arrays of each, and integers of each array. */
export const INTEGER_RECORDS = 7;
export const INTEGER_ARRAYS = 30;
const INTEGERS = 130_001;
const MEMBERS = 4_000_000;
const SEARCHES = 100;
const LISTED = 100_000;

/** A search in thousands of states: 10 s for 100,000 characters, minutes for 2,000,000. */
export const SLOW_PATTERN = "(?:a{1,100}){1,20}b";

/** 54 MB: metadata arrays of digits, which differ from record to record. */
export function integerWrite(): Buffer {
  const ids = Array.from({ length: INTEGER_RECORDS }, (_, i) => `"r${i}"`);
  const metadatas = ids.map((_, record) => {
    const list = integerList(record);
    return `{${Array.from({ length: INTEGER_ARRAYS }, (_v, k) => `"k${k}":[${list}]`).join(",")}}`;
  });
  const embeddings = ids.map((_, record) => `[${record},1]`);
  return Buffer.from(
    `{"ids":[${ids.join()}],"embeddings":[${embeddings.join()}],"metadatas":[${metadatas.join()}]}`,
  );
}

export function integerList(record: number): string {
  return Array.from({ length: INTEGERS }, (_, i) => (i + record) % 10).join();
}

/** Members of an object of 4,000,000. */
export function manyMembers(): string {
  return Array.from({ length: MEMBERS }, (_, i) => `"k${i}":1`).join();
}

/** 100 searches, each with a list of 100,000 values from `from` on; `rest` are further members of each. */
export function listSearches(key: string, from: number, rest: string): string {
  const list = Array.from({ length: LISTED }, (_, i) => i + from).join();
  const search = `{"where":{"${key}":{"$in":[${list}]}},${rest}}`;
  return `{"searches":[${Array.from({ length: SEARCHES }, () => search).join()}]}`;
}

/** 3 KB that ask for all documents 100 times. */
export function documentSearches(): object {
  return { searches: Array.from({ length: SEARCHES }, () => ({ select: { keys: ["#document"] } })) };
}
