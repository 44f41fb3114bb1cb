/** A part of a file that lies in a paged section. */
import type { PagedSection } from "../../storage/files/paged-section.ts";
import type { PartSource } from "../../storage/files/lazy-part.ts";

export function pagedSource<T>(
  section: PagedSection,
  [start, end]: readonly [number, number],
  parse: (bytes: Buffer) => T,
): PartSource<T, Buffer> {
  return {
    bytes: end - start,
    tryRead: () => section.tryRead(start, end),
    read: (options) => section.read(start, end, options),
    parse,
  };
}
