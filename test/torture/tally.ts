/** What a run has done: operations by outcome, kills by victim, how long starts took; and the table of it. */
import { median } from "../../benchmarks/measure/statistics.ts";
import { textTable } from "../../benchmarks/measure/text-table.ts";
import { OPERATION_KINDS, type OperationKind } from "./operation.ts";
import type { Victim } from "./tortured-server.ts";

export type Outcome = "acknowledged" | "refused" | "unknown";
/** `load`: while writers wrote. `boot`: before it served. */
export type KillMoment = "load" | "boot";

const VICTIMS: readonly Victim[] = ["gateway", "host", "group"];

export class Tally {
  cycles = 0;
  reads = 0;
  searches = 0;
  /** Index files that were damaged. */
  lostFiles = 0;
  /** Of all files, by `sheaf doctor`. */
  examinations = 0;
  readonly bootMs: number[] = [];
  /** From the kill of an engine host to the next answer of its successor. */
  readonly recoveryMs: number[] = [];
  readonly #operations = new Map<string, number>();
  readonly #kills = new Map<string, number>();

  operation(kind: OperationKind, outcome: Outcome): void {
    increase(this.#operations, `${kind}/${outcome}`);
  }

  kill(victim: Victim, moment: KillMoment): void {
    increase(this.#kills, `${victim}/${moment}`);
  }

  operations(outcome: Outcome): number {
    return OPERATION_KINDS.reduce((sum, kind) => sum + this.#operation(kind, outcome), 0);
  }

  kills(victim: Victim, moment: KillMoment): number {
    return this.#kills.get(`${victim}/${moment}`) ?? 0;
  }

  /** Markdown. */
  operationsTable(): string {
    const outcomes: readonly Outcome[] = ["acknowledged", "refused", "unknown"];
    const row = (name: string, count: (outcome: Outcome) => number): string[] => [
      name,
      ...outcomes.map((outcome) => format(count(outcome))),
    ];
    return textTable(
      ["operation", ...outcomes],
      [
        ...OPERATION_KINDS.map((kind) => row(kind, (outcome) => this.#operation(kind, outcome))),
        row("all", (outcome) => this.operations(outcome)),
      ],
    );
  }

  /** Markdown. */
  table(violations: number): string {
    const operations = this.operationsTable();
    const kills = textTable(
      ["killed", "under load", "while it starts"],
      VICTIMS.map((victim) => [
        victim,
        format(this.kills(victim, "load")),
        format(this.kills(victim, "boot")),
      ]),
    );
    const times = textTable(
      ["until it serves", "times", "median ms", "longest ms"],
      [timesRow("a start", this.bootMs), timesRow("a new engine host", this.recoveryMs)],
    );
    const counts = textTable(
      ["", "number"],
      [
        ["cycles", format(this.cycles)],
        ["reads beside the writes", format(this.reads)],
        ["searches held against the oracle", format(this.searches)],
        ["index files damaged", format(this.lostFiles)],
        ["folders gone through by sheaf doctor", format(this.examinations)],
        ["violations", format(violations)],
      ],
    );
    return [operations, kills, times, counts].join("\n\n");
  }

  #operation(kind: OperationKind, outcome: Outcome): number {
    return this.#operations.get(`${kind}/${outcome}`) ?? 0;
  }
}

function timesRow(name: string, values: readonly number[]): string[] {
  if (values.length === 0) return [name, "0", "", ""];
  return [name, format(values.length), format(median(values)), format(Math.max(...values))];
}

function format(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
