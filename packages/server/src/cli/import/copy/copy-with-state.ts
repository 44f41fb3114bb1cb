/** Copies one collection as far as its state says that it is missing, and says in the state what came of it. */
import { appendFileSync } from "node:fs";
import type { SheafClient } from "@sheaf/client";
import { SheafError } from "@sheaf/protocol";
import { isAboutRecords } from "../upsert-lines.ts";
import { type CopySource, copyCollection } from "./copy-collection.ts";
import type { CollectionProgress, ImportState } from "./import-state.ts";
import { several } from "../../several.ts";

export interface StatedCopy {
  readonly client: SheafClient;
  readonly state: ImportState;
  readonly source: CopySource;
  /** Of the collection at the source, the same at the next run. */
  readonly id: string;
  /** As the report names them. */
  readonly from: string;
  readonly to: string;
  /** Makes the collection at Sheaf, or finds it. Gives its path. */
  readonly makeTarget: () => Promise<string>;
  readonly tell: (line: () => string) => void;
}

/** Throws where going on with other collections makes no sense, either; a later run then continues. */
export async function copyWithState(copy: StatedCopy): Promise<void> {
  const { client, state, source, from, to, tell } = copy;
  const progress = state.progressOf(copy.id, { from, to });
  if (progress.isComplete && progress.problem === null) return;
  // What was refused or different may have been put right since.
  if (progress.problem !== null) state.restart(progress);
  progress.problem = null;
  const onRefusal = (id: string, reason: string): void =>
    appendFileSync(state.refusals, `${JSON.stringify({ collection: from, id, reason })}\n`);
  const onPage = (): void => {
    state.save();
    tell(() => `${from}: ${progress.done} records so far`);
  };
  try {
    const target = await copy.makeTarget();
    await copyCollection({ source, client, target, progress, onPage, onRefusal });
    progress.problem = problemOf(progress);
    progress.isComplete = true;
  } catch (error) {
    if (!isAboutOne(error)) throw error;
    progress.problem = error.message;
  }
  state.save();
}

function problemOf({ source, target, refused, absent = 0 }: CollectionProgress): string | null {
  if (refused > 0) return `${several(refused, "record")} refused`;
  if (source === (target ?? 0) + absent) return null;
  const others = absent === 0 ? "" : `, beside ${absent} without such a vector`;
  return `${source} records at the source and ${target} at Sheaf${others}: were there others, or was it written to meanwhile?`;
}

/** What is wrong with one collection, so that the others can be copied. */
function isAboutOne(error: unknown): error is Error {
  if (error instanceof SheafError) return error.code === "failed_precondition" || error.code === "not_found";
  return isAboutRecords(error);
}
