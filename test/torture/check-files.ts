/**
 * Holds what a kill left on disk to `sheaf doctor`, which reads every page of every file: a crash may leave orphans,
 * never damage, and what is healthy must not be called damaged.
 */
import { runSheaf } from "../damage/testing/run-sheaf.ts";
import { Violation } from "./violation.ts";

interface Report {
  readonly findings: readonly {
    readonly severity: string;
    readonly subject: string;
    readonly problem: string;
  }[];
}

/** No server may use the folder. `indexes`: their files are whole, too. */
export async function checkFiles(data: string, { indexes }: { readonly indexes: boolean }): Promise<void> {
  const { code, out, errors } = await runSheaf("doctor", "--data", data, "--json");
  if (out === "") throw new Violation(`sheaf doctor ended with ${code}`, [errors]);
  const { findings } = JSON.parse(out) as Report;
  const damage = findings.filter(
    ({ severity, subject }) => severity === "damage" || (indexes && subject.startsWith("index of ")),
  );
  if (damage.length === 0) return;
  throw new Violation(
    "sheaf doctor finds damage where processes were only killed",
    damage.map(({ subject, problem }) => `${subject}: ${problem}`),
  );
}
