/** Compares a served Sheaf with the server of PyPI's `chromadb`, and says on the console how that went. */
import { ChromaServer } from "./chroma-server.ts";
import type { ServerAddress } from "./contestant.ts";
import { printFailure, runDifferential } from "./differential-run.ts";

export interface CompareOptions {
  /** Where the programs of the environment are that holds the package. */
  readonly bin: string;
  readonly sheaf: Omit<ServerAddress, "name">;
  readonly seed: number;
  readonly steps: number;
}

const MILLISECONDS = 100_000;

/** Whether nothing differed but what is decided. */
export async function compareWithChroma({ bin, sheaf, seed, steps }: CompareOptions): Promise<boolean> {
  console.log(`Comparing ${steps} random operations with the existing server, seed ${seed}…`);
  const chroma = await ChromaServer.start(bin);
  try {
    const { failure, explained, ...run } = await runDifferential({
      theirs: { name: "existing server", url: chroma.url, headers: {} },
      ours: { name: "Sheaf", ...sheaf },
      seed,
      steps,
      milliseconds: MILLISECONDS,
    });
    console.log(`${run.steps} operations; differences that are decided:`);
    for (const [name, count] of explained) console.log(`  ${count} x ${name}`);
    if (failure === null) return true;
    console.error(`The answers of the existing server and of Sheaf differ (seed ${seed}), shortened to:`);
    console.error(printFailure(failure));
    return false;
  } finally {
    await chroma.dispose();
  }
}
