// A module hook: packages of this repository resolve to their sources.
export function resolve(specifier, context, nextResolve) {
  return nextResolve(specifier, { ...context, conditions: ["@sheaf/source", ...context.conditions] });
}
