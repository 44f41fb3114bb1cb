/** Looks at one model as it lies on this machine, with an embedder of its own that is closed again afterwards. */
import { createEmbedder, type EmbedderOptions } from "@sheaf/inference";
import { SheafError } from "@sheaf/protocol";
import { checkDense } from "./check-dense.ts";
import { checkSparse } from "./check-sparse.ts";
import { type Finding, finding } from "./finding.ts";
import type { KnownDenseModel, KnownSparseModel } from "./known-models.ts";

export type Verdict =
  | { readonly kind: "absent" }
  | { readonly kind: "checked"; readonly revision: string; readonly findings: readonly Finding[] };

/** Fetches nothing. A model that cannot be loaded, or that the options name and that is not there, is wrong. */
export async function checkModel(
  model: KnownDenseModel | KnownSparseModel,
  options: EmbedderOptions,
): Promise<Verdict> {
  const { identifier } = model;
  // Errors are for callers of a server; which files are missing or damaged is told as an event.
  const events: string[] = [];
  const onEvent = (event: string): unknown => events.push(event);
  const embedder = createEmbedder({ ...options, autoPull: false, replicas: 1, onEvent });
  try {
    const configured = Object.hasOwn(options.models ?? {}, identifier);
    if (!configured && !embedder.model(identifier).available) return { kind: "absent" };
    const { revision } = await embedder.identity(identifier);
    const findings =
      model.kind === "dense" ? await checkDense(embedder, model) : await checkSparse(embedder, model);
    return { kind: "checked", revision, findings };
  } catch (error) {
    if (!(error instanceof SheafError)) throw error;
    return {
      kind: "checked",
      revision: "unknown",
      findings: [finding(false, [error.message, ...events].join("; "))],
    };
  } finally {
    await embedder.close();
  }
}
