/**
 * Rust's `regex` in WebAssembly, as `rregex` ships it, in instances that are given up. An instance keeps 256 KiB of
 * nearly every expression it has compiled, freed or not, and its memory never shrinks; in the one instance that the
 * package makes of itself some 16,000 expressions would be the end of the process. So once an instance has grown, the
 * next expression begins another, and the old one goes with the last expression that was compiled in it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

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
  rregex_isMatch(regex: number, address: number, bytes: number): number;
  __wbg_rregex_free(regex: number, unused: number): void;
}

const GIVE_UP_BYTES = 16 * 1024 * 1024;

let module: object | undefined;
let newest: RegexInstance | undefined;

/** A compiled expression; to be freed, though not all of it is. */
export interface Regex {
  isMatch(text: string): boolean;
  free(): void;
}

/** Throws an error with the engine's message for a pattern that it does not take. */
export function compileRegex(pattern: string): Regex {
  if (newest === undefined || newest.bytes > GIVE_UP_BYTES) newest = new RegexInstance();
  return newest.compile(pattern);
}

class RegexInstance {
  readonly #exports: RegexExports;
  #view = new Uint8Array(0);

  constructor() {
    module ??= new WebAssembly.Module(readFileSync(wasmFile()));
    this.#exports = new WebAssembly.Instance(module, this.#imports(module)).exports as RegexExports;
    this.#exports.__wbindgen_start();
  }

  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  compile(pattern: string): Regex {
    const [regex, error, failed] = this.#exports.rregex_new(...this.#pass(pattern));
    if (failed !== 0) throw this.#take(error);
    return {
      isMatch: (text) => this.#exports.rregex_isMatch(regex, ...this.#pass(text)) !== 0,
      free: () => this.#exports.__wbg_rregex_free(regex, 0),
    };
  }

  #pass(text: string): [address: number, bytes: number] {
    const encoded = Buffer.from(text, "utf8");
    const address = this.#exports.__wbindgen_malloc(encoded.length, 1) >>> 0;
    this.#memory().set(encoded, address);
    return [address, encoded.length];
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

  /** All that the module may call; most of it serves functions that are not used here. */
  #imports(of: object): object {
    const text = (address: number, bytes: number): string =>
      Buffer.from(this.#exports.memory.buffer, address >>> 0, bytes >>> 0).toString("utf8");
    const used: Readonly<Record<string, (address: number, bytes: number) => unknown>> = {
      __wbindgen_string_new: text,
      __wbindgen_error_new: (address, bytes) => new Error(text(address, bytes)),
      __wbindgen_throw: (address, bytes) => {
        throw new Error(text(address, bytes));
      },
      __wbindgen_init_externref_table: () => {
        const table = this.#exports.__wbindgen_export_2;
        const from = table.grow(4);
        table.set(0, undefined);
        [undefined, null, true, false].forEach((value, i) => table.set(from + i, value));
      },
    };
    const functions = WebAssembly.Module.imports(of).map(({ name }) => [
      name,
      used[name] ?? unexpected(name),
    ]);
    return { wbg: Object.fromEntries(functions) };
  }
}

function unexpected(name: string): () => never {
  return () => {
    throw new Error(`the regex module calls ${name}`);
  };
}

function wasmFile(): string {
  return join(dirname(createRequire(import.meta.url).resolve("rregex")), "rregex.wasm");
}
