/** Options of a benchmark, with a line of usage instead of a stack where they are wrong. */
import { type ParseArgsConfig, parseArgs } from "node:util";

const WRONG_USAGE = 2;

/** Ends the process with 2 where the command line has another option. */
export function readOptions<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    return endWithUsage(usage, error instanceof Error ? error.message : String(error));
  }
}

export function endWithUsage(usage: string, problem: string): never {
  console.error(`${problem}\nusage: npm run ${usage}`);
  process.exit(WRONG_USAGE);
}
