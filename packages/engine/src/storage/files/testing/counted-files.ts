import type { SegmentFiles } from "../segment-files.ts";

/** The files, each read at once of which is told, with its bytes. */
export function countedFiles<T extends SegmentFiles>(files: T, heard: (bytes: number) => void): T {
  const open = files.open.bind(files);
  return Object.assign(files, {
    open: async (...given: Parameters<typeof open>) => {
      const file = await open(...given);
      if (file === null) return null;
      const tryRead = file.tryRead.bind(file);
      return Object.assign(file, {
        tryRead: (into: Uint8Array, position: number): boolean => {
          heard(into.length);
          return tryRead(into, position);
        },
      });
    },
  });
}
