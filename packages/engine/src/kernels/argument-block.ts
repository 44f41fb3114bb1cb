/**
 * Argument blocks of kernels, with their fields by name. Fields of 32 bits follow each other in the order of the
 * layout, which `argument-layouts.generated.ts` has from the classes of `assembly/`: names, order and kinds of
 * fields are declared there and nowhere else.
 */
import type { Views } from "./plain/views.ts";

/** The fields of a block in order; pointers are `u32`, byte addresses in the kernel memory. */
export type Layout = Readonly<Record<string, "u32" | "f32">>;

/** Address of a block of that layout. The property is never there: it keeps blocks of different layouts apart. */
export type BlockPointer<L extends Layout> = number & { readonly layout?: L };

/** Reads and writes the memory itself. */
export type ArgumentBlock<L extends Layout> = { readonly pointer: BlockPointer<L> } & {
  -readonly [field in keyof L]: number;
};

type BlockClass = new (views: BlockViews, word: number, pointer: number) => { readonly pointer: number };
type BlockViews = Pick<Views, "u32" | "f32">;

const FIELD_BYTES = 4;
const classes = new Map<Layout, BlockClass>();

/** Bytes of a block. */
export function blockBytes(layout: Layout): number {
  return Object.keys(layout).length * FIELD_BYTES;
}

/** The block at an address of the memory that `views` are of. */
export function blockAt<L extends Layout>(layout: L, views: BlockViews, pointer: number): ArgumentBlock<L> {
  return makeBlock(layout, views, pointer / FIELD_BYTES, pointer);
}

/** The same with views of nothing but the block. */
export function blockOf<L extends Layout>(layout: L, buffer: ArrayBuffer, pointer: number): ArgumentBlock<L> {
  const length = Object.keys(layout).length;
  const views = {
    u32: new Uint32Array(buffer, pointer, length),
    f32: new Float32Array(buffer, pointer, length),
  };
  return makeBlock(layout, views, 0, pointer);
}

/** Writes several fields. */
export function setFields<L extends Layout>(
  block: ArgumentBlock<L>,
  values: { readonly [field in keyof NoInfer<L>]?: number },
): void {
  Object.assign(block, values);
}

function makeBlock<L extends Layout>(
  layout: L,
  views: BlockViews,
  word: number,
  pointer: number,
): ArgumentBlock<L> {
  const Block = classes.get(layout) ?? defineClass(layout);
  classes.set(layout, Block);
  return new Block(views, word, pointer) as ArgumentBlock<L>;
}

/** One class per layout, so that a field is a load or a store at a constant place to the compiler. */
function defineClass(layout: Layout): BlockClass {
  class Block {
    readonly pointer: number;
    readonly #u32: Uint32Array;
    readonly #f32: Float32Array;
    readonly #word: number;

    constructor({ u32, f32 }: BlockViews, word: number, pointer: number) {
      this.pointer = pointer;
      this.#u32 = u32;
      this.#f32 = f32;
      this.#word = word;
    }

    static {
      for (const [index, [field, kind]] of Object.entries(layout).entries()) {
        Object.defineProperty(this.prototype, field, {
          enumerable: true,
          get(this: Block): number {
            return kind === "u32" ? this.#u32[this.#word + index]! : this.#f32[this.#word + index]!;
          },
          set(this: Block, value: number) {
            if (kind === "u32") this.#u32[this.#word + index] = value;
            else this.#f32[this.#word + index] = value;
          },
        });
      }
    }
  }
  return Block;
}
