/** The embedder of a server whose role runs no model: it knows the models, and says so when one would have to run. */
import type { Embedder } from "@sheaf/inference";
import { SheafError } from "@sheaf/protocol";

/** Every call that needs a model is 501; an unknown identifier stays the 400 it is. */
export function refuseModels(known: Pick<Embedder, "models" | "model">, role = "search"): Embedder {
  const notHere = (identifier: string): SheafError => {
    const words = `this server runs with the role "${role}" and no model; a text cannot be embedded with ${identifier} here`;
    return new SheafError("unimplemented", words);
  };
  const refuse = (identifier: string): Promise<never> => {
    return Promise.resolve(known.model(identifier)).then(() => Promise.reject(notHere(identifier)));
  };
  return {
    models: () => known.models(),
    model: (identifier) => known.model(identifier),
    pull: (identifier) => {
      throw notHere(known.model(identifier).identifier);
    },
    identity: refuse,
    dense: ({ model }) => refuse(model),
    sparse: ({ model }) => refuse(model),
    findTerms: ({ model }) => refuse(model),
    split: ({ model }) => refuse(model),
    close: () => Promise.resolve(),
  };
}
