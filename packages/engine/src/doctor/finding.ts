/** What `sheaf doctor` found, in words for an operator. */

export interface Finding {
  /** `damage`: something is lost or will be; `warning`: to be put right; `note`: good to know, no fault. */
  readonly severity: "damage" | "warning" | "note";
  /** What it is about: a file, or a collection by its names. */
  readonly subject: string;
  readonly problem: string;
  readonly remedy: string;
}

/** What one environment holds, and what is wrong with it. */
export interface Examination {
  readonly findings: readonly Finding[];
  readonly records: number;
}

/** Sentences of one kind that a report shows; a badly damaged file has thousands. */
const SHOWN = 5;

/** The first of many problems, and how many more there are. */
export function summarize(problems: readonly string[]): string {
  const more = problems.length - SHOWN;
  return [...problems.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message.replace("; run `sheaf doctor`", "") : String(error);
}
