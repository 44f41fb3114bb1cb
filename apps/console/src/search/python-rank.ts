/** A rank expression as Chroma's Search API in Python writes it: its dictionaries take no texts, its classes do. */
import { isObject } from "../parts/json-text.ts";
import { pythonText } from "./python-text.ts";

const INFIX = new Map([
  ["$sum", " + "],
  ["$mul", " * "],
]);
const SIDES = new Map([
  ["$sub", " - "],
  ["$div", " / "],
]);
const CHAINED = new Map([
  ["$max", "max"],
  ["$min", "min"],
]);
const METHODS = new Map([
  ["$abs", "abs"],
  ["$exp", "exp"],
  ["$log", "log"],
]);
const KNN_MEMBERS = ["query", "key", "limit", "default", "return_rank"];

/** `null`: it has what the API has no words for. */
export function pythonRank(node: unknown): string | null {
  if (!isObject(node)) return null;
  const [first, ...more] = Object.entries(node);
  if (first === undefined || more.length > 0) return null;
  const [operator, operand] = first;
  if (operator === "$val")
    return typeof operand === "number" && Number.isFinite(operand) ? `Val(${operand})` : null;
  if (operator === "$knn") return isObject(operand) ? knn(operand) : null;
  const infix = INFIX.get(operator);
  if (infix !== undefined) return joined(operand, (parts) => `(${parts.join(infix)})`);
  const chained = CHAINED.get(operator);
  if (chained !== undefined)
    return joined(operand, (parts) => parts.reduce((left, right) => `${left}.${chained}(${right})`));
  const side = SIDES.get(operator);
  if (side !== undefined)
    return isObject(operand)
      ? joined([operand["left"], operand["right"]], (parts) => `(${parts.join(side)})`)
      : null;
  const method = METHODS.get(operator);
  return method === undefined ? null : joined([operand], ([only]) => `${only}.${method}()`);
}

function joined(operands: unknown, write: (parts: readonly string[]) => string): string | null {
  if (!Array.isArray(operands) || operands.length === 0) return null;
  const parts = operands.flatMap((operand) => pythonRank(operand) ?? []);
  return parts.length === operands.length ? write(parts) : null;
}

function knn(members: Readonly<Record<string, unknown>>): string | null {
  const isKnown = Object.keys(members).every((name) => KNN_MEMBERS.includes(name));
  // A sparse vector has a class of its own there.
  if (!isKnown || isObject(members["query"])) return null;
  return `Knn(${Object.entries(members)
    .map(([name, value]) => `${name}=${pythonText(value)}`)
    .join(", ")})`;
}
