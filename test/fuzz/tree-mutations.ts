/** Changes of a body that is almost right: each touches one place of the tree. */
import type { Dice } from "./dice.ts";
import { hostileName, hostilePattern, hostileScalar, hostileText } from "./hostile-values.ts";
import { type JsonObject, type JsonTree, RawJson, copyTree, isObject, toTree } from "./json-tree.ts";

/** One place of a tree: what is there, and how to put something else there. */
interface Place {
  readonly tree: JsonTree;
  readonly put: (tree: JsonTree) => void;
}

/** A place inside an object or an array. */
interface Slot {
  readonly parent: JsonObject | JsonTree[];
  readonly index: number;
}

/** Above this a tree is only looked at in part. */
const MOST_PLACES = 2_000;
const MOST_REPEATS = 300;

/** A copy of `body` with `count` changes; `others` lend parts of themselves. */
export function mutated(body: JsonTree, count: number, others: readonly JsonTree[], dice: Dice): JsonTree {
  const root: JsonTree[] = [copyTree(body)];
  for (let i = 0; i < count; i++) mutateOnce(root, others, dice);
  return root[0] ?? null;
}

function mutateOnce(root: JsonTree[], others: readonly JsonTree[], dice: Dice): void {
  const slots = slotsOf(root);
  const slot = dice.pick(slots);
  const change = dice.weighted<(slot: Slot) => void>([
    [6, (at) => placeOf(at).put(hostileScalar(dice))],
    [3, (at) => swapType(placeOf(at), dice)],
    [3, (at) => nudge(placeOf(at), dice)],
    [3, (at) => removeFrom(at)],
    [2, (at) => repeat(at, dice)],
    [3, (at) => rename(at, dice)],
    [4, (at) => addMember(placeOf(at), dice)],
    [2, (at) => placeOf(at).put(wrapped(placeOf(at).tree, dice))],
    [3, (at) => placeOf(at).put(borrowed(others, dice))],
    [1, (at) => shuffle(placeOf(at), dice)],
  ]);
  change(slot);
}

/** Every place, the whole body first. */
function slotsOf(root: JsonTree[]): readonly Slot[] {
  const slots: Slot[] = [];
  const queue: (JsonObject | JsonTree[])[] = [root];
  for (
    let parent = queue.shift();
    parent !== undefined && slots.length < MOST_PLACES;
    parent = queue.shift()
  ) {
    const children = Array.isArray(parent) ? parent : parent.members.map(([, value]) => value);
    for (const [index, child] of children.entries()) {
      slots.push({ parent, index });
      if (Array.isArray(child) || isObject(child)) queue.push(child);
    }
  }
  return slots.length === 0 ? [{ parent: root, index: 0 }] : slots;
}

function placeOf({ parent, index }: Slot): Place {
  if (Array.isArray(parent)) {
    return { tree: parent[index] ?? null, put: (tree) => void (parent[index] = tree) };
  }
  const [name, tree] = parent.members[index] ?? ["", null];
  return { tree, put: (changed) => void (parent.members[index] = [name, changed]) };
}

function swapType({ tree, put }: Place, dice: Dice): void {
  const swapped: readonly JsonTree[] = [
    [tree],
    { members: [[hostileName(dice), tree]] },
    typeof tree === "string" ? tree.length : JSON.stringify(typeof tree),
    typeof tree === "number" ? String(tree) : 7,
    tree === null ? false : null,
  ];
  put(dice.pick(swapped));
}

function nudge({ tree, put }: Place, dice: Dice): void {
  if (typeof tree === "number") put(dice.pick([tree + 1, tree - 1, -tree, tree * 1e9, tree + 0.5, tree / 3]));
  else if (typeof tree === "string") {
    const text = hostileText(dice);
    put(dice.pick([tree + text, text + tree, tree.slice(1), tree.toUpperCase(), hostilePattern(dice)]));
  } else if (typeof tree === "boolean") put(dice.pick<JsonTree>([!tree, Number(tree), String(tree)]));
  else put(hostileScalar(dice));
}

function removeFrom({ parent, index }: Slot): void {
  if (Array.isArray(parent)) parent.splice(index, 1);
  else parent.members.splice(index, 1);
}

function repeat({ parent, index }: Slot, dice: Dice): void {
  if (Array.isArray(parent)) {
    const item = parent[index] ?? null;
    const times = dice.chance(0.2) ? dice.below(MOST_REPEATS) : 1 + dice.below(3);
    parent.splice(index, 0, ...Array.from({ length: times }, () => copyTree(item)));
    return;
  }
  const [name, value] = parent.members[index] ?? ["", null];
  parent.members.push([name, dice.chance(0.5) ? copyTree(value) : hostileScalar(dice)]);
}

function rename({ parent, index }: Slot, dice: Dice): void {
  if (Array.isArray(parent)) return;
  const [, value] = parent.members[index] ?? ["", null];
  parent.members[index] = [hostileName(dice), value];
}

function addMember({ tree, put }: Place, dice: Dice): void {
  const value = dice.chance(0.3)
    ? toTree({ [hostileName(dice)]: hostilePattern(dice) })
    : hostileScalar(dice);
  if (isObject(tree)) tree.members.push([hostileName(dice), value]);
  else if (Array.isArray(tree)) tree.push(value);
  else put({ members: [[hostileName(dice), value]] });
}

interface Wrap {
  readonly around: (inner: JsonTree) => JsonTree;
  /** Levels of it that a request can hold: one with two branches doubles at each. */
  readonly most: number;
}

const WRAPS: readonly Wrap[] = [
  { around: (inner) => [inner], most: 120 },
  { around: (inner) => ({ members: [["$and", [inner]]] }), most: 120 },
  { around: (inner) => ({ members: [["$or", [inner, copyTree(inner)]]] }), most: 6 },
  { around: (inner) => ({ members: [["$sum", [inner, { members: [["$val", 1]] }]]] }), most: 120 },
  { around: (inner) => ({ members: [["$abs", inner]] }), most: 120 },
  { around: (inner) => ({ members: [["$exp", inner]] }), most: 120 },
];

/** Deep in one kind of bracket, or deep in operators that mean something. */
function wrapped(tree: JsonTree, dice: Dice): JsonTree {
  const { around, most } = dice.pick(WRAPS);
  let result = tree;
  for (let levels = dice.chance(0.3) ? dice.below(most) : 1; levels > 0; levels--) result = around(result);
  return result;
}

function borrowed(others: readonly JsonTree[], dice: Dice): JsonTree {
  if (others.length === 0) return hostileScalar(dice);
  const slot = dice.pick(slotsOf([dice.pick(others)]));
  return copyTree(placeOf(slot).tree);
}

function shuffle({ tree, put }: Place, dice: Dice): void {
  if (Array.isArray(tree)) put([...tree].reverse());
  else if (isObject(tree)) put({ members: [...tree.members].reverse() });
  else if (tree instanceof RawJson) put(new RawJson(`${tree.text}${tree.text}`));
  else put([tree, copyTree(tree), hostileScalar(dice)]);
}
