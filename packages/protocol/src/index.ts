export * from "./errors.ts";
export * from "./limits.ts";
export * from "./metadata.ts";
export type * from "./catalog/ast.ts";
export type * from "./records/ast.ts";
export type * from "./search/ast.ts";
