/**
 * A memory of fixed size and the kernels that work on it: WASM, or their plain twins on an ordinary buffer. Both give
 * the same bits. Every WebAssembly memory reserves about 10 GB of address space whatever its size, and past some
 * 13,000 the process gets no more; so at most `MAX_WASM_MEMORIES` are made and the rest run on the twins.
 */
import { SheafError } from "@sheaf/protocol";
import type { ArgumentBlock, Kernels } from "./arguments.ts";
import { KERNELS_BASE64 } from "./kernels.generated.ts";
import { createPlainKernels } from "./plain/plain-kernels.ts";

/** What is used of the global, which Node has and its type package does not describe. */
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: { env: { memory: object } },
  ) => { readonly exports: unknown };
};

const MAX_WASM_MEMORIES = 512;
const PAGE_BYTES = 65_536;
const MAX_BYTES = 65_535 * PAGE_BYTES;
const ALIGNMENT = 64;

let compiled: object | undefined;
let wasmMemories = 0;

export type KernelKind = "wasm" | "plain";

export interface KernelMemoryOptions {
  /** The WASM kernels while there is room for another memory, unless it says `plain`. */
  readonly kernels?: KernelKind | undefined;
}

export class KernelMemory {
  readonly kind: KernelKind;
  readonly kernels: Kernels;
  readonly buffer: ArrayBuffer;
  #next = ALIGNMENT;
  #closed = false;

  /** `bytes`: the sum of everything that will be allocated, each rounded up by `allocationBytes`. */
  constructor(bytes: number, options: KernelMemoryOptions = {}) {
    const pages = Math.ceil((bytes + ALIGNMENT) / PAGE_BYTES);
    if (pages * PAGE_BYTES > MAX_BYTES)
      throw new SheafError("internal", `no kernel memory of ${bytes} bytes`);
    if (options.kernels === "plain" || wasmMemories >= MAX_WASM_MEMORIES) {
      this.kind = "plain";
      this.buffer = new ArrayBuffer(pages * PAGE_BYTES);
      this.kernels = createPlainKernels(this.buffer);
      return;
    }
    this.kind = "wasm";
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    compiled ??= new WebAssembly.Module(Buffer.from(KERNELS_BASE64, "base64"));
    this.buffer = memory.buffer;
    this.kernels = new WebAssembly.Instance(compiled, { env: { memory } }).exports as Kernels;
    wasmMemories++;
  }

  /** Address of `bytes` zeroed bytes, aligned to 64. Nothing is ever given back but all of it. */
  allocate(bytes: number): number {
    const address = this.#next;
    this.#next += allocationBytes(bytes);
    if (this.#next > this.buffer.byteLength) throw new SheafError("internal", "kernel memory is too small");
    return address;
  }

  block(words: number): ArgumentBlock {
    const pointer = this.allocate(words * 4);
    return { pointer, u32: this.u32(pointer, words), f32: this.f32(pointer, words) };
  }

  u8(address: number, length: number): Uint8Array {
    return new Uint8Array(this.buffer, address, length);
  }

  i8(address: number, length: number): Int8Array {
    return new Int8Array(this.buffer, address, length);
  }

  u16(address: number, length: number): Uint16Array {
    return new Uint16Array(this.buffer, address, length);
  }

  u32(address: number, length: number): Uint32Array {
    return new Uint32Array(this.buffer, address, length);
  }

  f32(address: number, length: number): Float32Array {
    return new Float32Array(this.buffer, address, length);
  }

  /** Makes room for another memory; the bytes go when nothing refers to them any more. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.kind === "wasm") wasmMemories--;
  }
}

/** Writes whole-number fields (addresses and counts) of an argument block, named as in `arguments.ts`. */
export function setFields<Field extends string>(
  block: ArgumentBlock,
  fields: Readonly<Record<Field, number>>,
  values: { readonly [field in NoInfer<Field>]?: number },
): void {
  for (const [field, value] of Object.entries(values) as [Field, number][]) block.u32[fields[field]] = value;
}

/** What `allocate(bytes)` takes of a memory. */
export function allocationBytes(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
