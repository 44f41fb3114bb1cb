/**
 * The sentence that tells an instruction-aware model what its text is for. Callers send it as such, or name a task
 * and which side of it (`documents`, `query`) a text stands on; the table maps the one to the other.
 */
import { invalid } from "../errors.ts";
import { listOf } from "../json/json-shape.ts";

export interface TaskInstructions {
  /** Sentence for texts that are stored; empty: none. */
  readonly documents: string;
  /** Sentence for texts that search; empty: none. */
  readonly query: string;
}

/** Task name -> its sentences. */
export type TaskTable = Readonly<Record<string, TaskInstructions>>;

/** The one task that shipped clients know. */
export const DEFAULT_TASKS: TaskTable = Object.freeze({
  nl_to_code: Object.freeze({
    documents: "",
    query: "Given a question about coding, retrieval code or passage that can solve user's question",
  }),
});

const TARGETS = ["documents", "query"] as const;

export interface InstructionFields {
  readonly instructions: string | null;
  readonly task: string | null;
  readonly target: string | null;
}

/**
 * The instruction of one embedding call; empty: none. `instructions`, even empty, wins over task and target; an empty
 * task or target means no instruction. A task or target that is unknown is refused in any case, for every model.
 *
 * @throws SheafError 400 for an unknown task or target.
 */
export function resolveInstruction(fields: InstructionFields, table: TaskTable = DEFAULT_TASKS): string {
  const task = fields.task ?? "";
  const target = fields.target ?? "";
  if (task !== "" && !Object.hasOwn(table, task)) {
    throw invalid("task", `is unknown, expected ${listOf(Object.keys(table))}, or an empty string for none`);
  }
  const side = TARGETS.find((known) => known === target);
  if (target !== "" && side === undefined) {
    throw invalid("target", `is unknown, expected ${listOf(TARGETS)}, or an empty string for none`);
  }
  if (fields.instructions !== null) return fields.instructions;
  if (task === "" || side === undefined) return "";
  return table[task]?.[side] ?? "";
}
