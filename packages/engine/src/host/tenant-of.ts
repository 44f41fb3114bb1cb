/** Calls of the engine name their tenant first, by itself or within a reference; those of none are the operator's. */
export function tenantOf([first]: readonly unknown[]): string {
  if (typeof first === "string") return first;
  const tenant: unknown =
    typeof first === "object" && first !== null && "tenant" in first ? first.tenant : "";
  return typeof tenant === "string" ? tenant : "";
}
