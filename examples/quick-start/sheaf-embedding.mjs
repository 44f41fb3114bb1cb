/** An embedding function for `chromadb` that lets Sheaf do the work, with a model that comes with it. */
import { registerEmbeddingFunction } from "chromadb";

const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

export class SheafEmbeddingFunction {
  // The server knows a function of this name, and what its settings mean.
  name = "sheaf";
  #model;

  constructor(model = MODEL) {
    this.#model = model;
  }

  async generate(texts) {
    const response = await fetch(`${process.env.SHEAF_URL}/embed`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-service-token": process.env.SHEAF_KEY ?? "",
        "x-service-embedding-model": this.#model,
      },
      body: JSON.stringify({ texts, instructions: "" }),
    });
    const reply = await response.json();
    if (!response.ok) throw new Error(reply.error);
    return reply.embeddings;
  }

  getConfig() {
    return { model: this.#model };
  }

  defaultSpace() {
    return "cosine";
  }

  supportedSpaces() {
    return ["cosine", "l2", "ip"];
  }

  static buildFromConfig({ model }) {
    return new SheafEmbeddingFunction(model);
  }
}

// So that `getCollection` finds the function that a collection was made with.
registerEmbeddingFunction("sheaf", SheafEmbeddingFunction);
