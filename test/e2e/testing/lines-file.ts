/** Writes JSON lines for `sheaf import`, of any length, with a line now and then that no server takes. */
import { closeSync, openSync, writeSync } from "node:fs";

const DIMENSION = 384;
/** Their texts are made once: what is measured is not how they are made. */
const VECTORS = 64;
const LINES_A_WRITE = 500;

export interface LinesFile {
  readonly lines: number;
  readonly bytes: number;
}

/**
 * @param path Of a file that does not exist yet.
 * @param refusedEvery The last line of this many has no id.
 */
export function writeLines(path: string, lines: number, refusedEvery = Infinity): LinesFile {
  const vectors = Array.from({ length: VECTORS }, (_, v) =>
    JSON.stringify(Array.from({ length: DIMENSION }, (_value, i) => Math.fround(Math.sin(v * 400 + i)))),
  );
  const file = openSync(path, "wx");
  let bytes = 0;
  let text = "";
  for (let n = 1; n <= lines; n++) {
    const id = n % refusedEvery === 0 ? "" : `record-${n}`;
    text += `{"id":"${id}","embedding":${vectors[n % VECTORS]},"document":"text ${n}"}\n`;
    if (n % LINES_A_WRITE > 0 && n < lines) continue;
    bytes += writeSync(file, text);
    text = "";
  }
  closeSync(file);
  return { lines, bytes };
}
