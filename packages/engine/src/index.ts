export type * from "./engine.ts";
