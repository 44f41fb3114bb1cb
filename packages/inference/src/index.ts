export type * from "./embedder.ts";
