/**
 * Rust's `regex` in WebAssembly, as `rregex` ships it, in instances of our own. An instance keeps memory of nearly
 * every expression that it has compiled, freed or not, and its memory never shrinks: whoever compiles many gives the
 * whole instance up once it has grown, and with it every expression that was compiled in it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Hir } from "rregex";

/** What is used of the global, which Node has and its type package does not describe. */
declare const WebAssembly: {
  readonly Module: (new (bytes: Uint8Array) => object) & {
    imports(module: object): readonly { readonly module: string; readonly name: string }[];
  };
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

/** What wasm-bindgen has made of the Rust functions. A text belongs to the function that it is handed to. */
interface RegexExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly __wbindgen_export_2: {
    get(index: number): unknown;
    set(index: number, value: unknown): void;
    grow(by: number): number;
  };
  __wbindgen_start(): void;
  __wbindgen_malloc(bytes: number, alignment: number): number;
  __externref_table_dealloc(index: number): void;
  /** Gives the address of the expression, or the index of an error and whether there is one. */
  rregex_new(address: number, bytes: number): readonly [number, number, number];
  /** Gives the index of the syntax tree, or that of an error and whether there is one. */
  rregex_syntax(regex: number): readonly [number, number, number];
  rregex_isMatch(regex: number, address: number, bytes: number): number;
  /** Gives the index of a match or of `undefined`, or that of an error and whether there is one. */
  rregex_findAt(
    regex: number,
    address: number,
    bytes: number,
    start: number,
  ): readonly [number, number, number];
}

type Imports = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A compiled expression; it lives as long as its instance. */
export interface Regex {
  /** `text` is UTF-8. */
  isMatch(text: Uint8Array): boolean;
  /** The leftmost match that begins at byte `start`, which begins a character, or behind it; in bytes. What lies before is seen. */
  findAt(text: Uint8Array, start: number): { readonly start: number; readonly end: number } | null;
  /** As the parser has understood it: flags and case folding are resolved. */
  syntax(): Hir;
}

let module: object | undefined;

export class RegexInstance {
  readonly #exports: RegexExports;
  #view = new Uint8Array(0);

  constructor() {
    module ??= new WebAssembly.Module(readFileSync(wasmFile()));
    this.#exports = new WebAssembly.Instance(module, this.#imports(module)).exports as RegexExports;
    this.#exports.__wbindgen_start();
  }

  /** Memory that it will not give back. */
  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Throws an error with the library's message for a pattern that it does not take. */
  compile(pattern: string): Regex {
    const regex = this.#result(this.#exports.rregex_new(...this.#pass(Buffer.from(pattern, "utf8"))));
    return {
      isMatch: (text) => this.#exports.rregex_isMatch(regex, ...this.#pass(text)) !== 0,
      findAt: (text, start) =>
        (this.#take(this.#result(this.#exports.rregex_findAt(regex, ...this.#pass(text), start))) as
          | { readonly start: number; readonly end: number }
          | undefined) ?? null,
      syntax: () => this.#take(this.#result(this.#exports.rregex_syntax(regex))) as Hir,
    };
  }

  #result([value, error, failed]: readonly [number, number, number]): number {
    if (failed !== 0) throw this.#take(error);
    return value;
  }

  #pass(text: Uint8Array): [address: number, bytes: number] {
    const address = this.#exports.__wbindgen_malloc(text.length, 1) >>> 0;
    this.#memory().set(text, address);
    return [address, text.length];
  }

  #take(index: number): unknown {
    const value = this.#exports.__wbindgen_export_2.get(index);
    this.#exports.__externref_table_dealloc(index);
    return value;
  }

  /** A memory that has grown has another buffer. */
  #memory(): Uint8Array {
    if (this.#view.byteLength === 0) this.#view = new Uint8Array(this.#exports.memory.buffer);
    return this.#view;
  }

  /** All that the module may call; what is not listed serves functions that are not used here. */
  #imports(of: object): object {
    const used = { ...OBJECTS, ...this.#texts() };
    const functions = WebAssembly.Module.imports(of).map(({ name }) => [
      name,
      used[name] ?? unexpected(name),
    ]);
    return { wbg: Object.fromEntries(functions) };
  }

  #texts(): Imports {
    const text = (address: number, bytes: number): string =>
      Buffer.from(this.#exports.memory.buffer, address >>> 0, bytes >>> 0).toString("utf8");
    return {
      __wbindgen_string_new: text,
      __wbindgen_error_new: (address: number, bytes: number) => new Error(text(address, bytes)),
      __wbindgen_throw: (address: number, bytes: number) => {
        throw new Error(text(address, bytes));
      },
      __wbindgen_memory: () => this.#exports.memory,
      __wbindgen_init_externref_table: () => {
        const table = this.#exports.__wbindgen_export_2;
        const from = table.grow(4);
        table.set(0, undefined);
        [undefined, null, true, false].forEach((value, i) => table.set(from + i, value));
      },
    };
  }
}

/** What the syntax tree is built with; the names carry the hash that wasm-bindgen gave them in this version. */
const OBJECTS: Imports = {
  __wbindgen_number_new: (value: number) => value,
  __wbindgen_bigint_from_u64: (value: bigint) => BigInt.asUintN(64, value),
  __wbg_new_405e22f390576ce2: () => ({}),
  __wbg_new_78feb108b6472713: () => [],
  __wbg_new_a12002a7f91c75be: (from: ArrayBuffer) => new Uint8Array(from),
  __wbg_newwithbyteoffsetandlength_d97e637ebe145a9a: (buffer: ArrayBuffer, offset: number, length: number) =>
    new Uint8Array(buffer, offset >>> 0, length >>> 0),
  __wbg_buffer_609cc3eee51ed158: ({ buffer }: Uint8Array) => buffer,
  __wbg_length_e2d2a49132c1b256: ({ length }: readonly unknown[]) => length,
  __wbg_get_b9b93047fe3cf45b: (list: readonly unknown[], index: number) => list[index >>> 0],
  __wbg_push_737cfc8c1432c2c6: (list: unknown[], value: unknown) => list.push(value),
  __wbg_from_2a5d3e218e67aa85: (values: Iterable<unknown>) => Array.from(values),
  __wbg_fromCodePoint_f37c25c172f2e8b5: (point: number) => String.fromCodePoint(point >>> 0),
  __wbg_set_37837023f3d740e8: (list: unknown[], index: number, value: unknown) => {
    list[index >>> 0] = value;
  },
  __wbg_set_3f1d0b984ed272ed: (target: Record<string, unknown>, key: string, value: unknown) => {
    target[key] = value;
  },
  __wbg_set_bb8cecf6a62b9f46: (target: object, key: string, value: unknown) =>
    Reflect.set(target, key, value),
};

function unexpected(name: string): () => never {
  return () => {
    throw new Error(`the regex module calls ${name}`);
  };
}

function wasmFile(): string {
  return join(dirname(createRequire(import.meta.url).resolve("rregex")), "rregex.wasm");
}
