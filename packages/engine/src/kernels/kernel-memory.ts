/**
 * A memory of fixed size and the kernels that work on it: WASM, or their plain twins on an ordinary buffer. Both give
 * the same bits. Every WebAssembly memory reserves about 10 GB of address space whatever its size, and past some
 * 13,000 the process gets no more; so at most `MAX_WASM_MEMORIES` are made and the rest run on the twins.
 */
import { SheafError } from "@sheaf/protocol";
import { type ArgumentBlock, type Layout, blockBytes, blockOf } from "./argument-block.ts";
import type { Kernels } from "./kernels.ts";
import { KERNELS_BASE64, SHARED_KERNELS_BASE64 } from "./kernels.generated.ts";
import { createPlainKernels } from "./plain/plain-kernels.ts";

/** What is used of the global, which Node has and its type package does not describe. */
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: { env: { memory: object } },
  ) => { readonly exports: unknown };
};

interface WasmMemory {
  /** A `SharedArrayBuffer` if it is shared; nothing here cares. */
  readonly buffer: ArrayBuffer;
}

const MAX_WASM_MEMORIES = 2_048;
const PAGE_BYTES = 65_536;
const MAX_BYTES = 65_535 * PAGE_BYTES;
const ALIGNMENT = 64;

const compiled = new Map<string, object>();
let wasmMemories = 0;
/** One that is let go without being closed counts until it is collected. */
const lost = new FinalizationRegistry<null>(() => wasmMemories--);

export type KernelKind = "wasm" | "plain";

export interface KernelMemoryOptions {
  /** The WASM kernels while there is room for another memory, unless it says `plain`. */
  readonly kernels?: KernelKind | undefined;
  /** Other threads may `attach` to it. V8 does not see how large it is, so it is collected later than other garbage. */
  readonly shared?: boolean | undefined;
}

/** What another thread needs of a memory that is shared with it. */
export interface MemoryHandle {
  readonly kind: KernelKind;
  readonly memory: WasmMemory;
}

export class KernelMemory {
  readonly kind: KernelKind;
  readonly kernels: Kernels;
  readonly buffer: ArrayBuffer;
  readonly #memory: WasmMemory;
  readonly #isShared: boolean;
  #next = ALIGNMENT;
  #closed = false;

  /** `bytes`: the sum of everything that will be allocated, each rounded up by `allocationBytes`. */
  constructor(bytes: number, options?: KernelMemoryOptions);
  /** Another thread's memory: the same calls of `allocate` give the addresses that it knows, with what is there. */
  constructor(attached: MemoryHandle);
  constructor(source: number | MemoryHandle, { kernels, shared = false }: KernelMemoryOptions = {}) {
    const isAttached = typeof source === "object";
    const { kind, memory } = isAttached ? source : makeMemory(source, { kernels, shared });
    this.kind = kind;
    this.#memory = memory;
    this.#isShared = isAttached || shared;
    // What is attached has its place in the address space already.
    this.#closed = isAttached;
    if (kind === "wasm" && !isAttached) lost.register(this, null, this);
    this.buffer = memory.buffer;
    if (kind === "plain") this.kernels = createPlainKernels(this.buffer);
    else {
      const module = compiledKernels(this.#isShared ? SHARED_KERNELS_BASE64 : KERNELS_BASE64);
      this.kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Kernels;
    }
  }

  /** `null` for a memory that was not made to be shared. */
  get shared(): MemoryHandle | null {
    return this.#isShared ? { kind: this.kind, memory: this.#memory } : null;
  }

  /** Address of `bytes` bytes, zeroed in a new memory, aligned to 64. Nothing is ever given back but all of it. */
  allocate(bytes: number): number {
    const address = this.#next;
    this.#next += allocationBytes(bytes);
    if (this.#next > this.buffer.byteLength) throw new SheafError("internal", "kernel memory is too small");
    return address;
  }

  block<L extends Layout>(layout: L): ArgumentBlock<L> {
    return blockOf(layout, this.buffer, this.allocate(blockBytes(layout)));
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

  i16(address: number, length: number): Int16Array {
    return new Int16Array(this.buffer, address, length);
  }

  i32(address: number, length: number): Int32Array {
    return new Int32Array(this.buffer, address, length);
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
    if (this.kind !== "wasm") return;
    wasmMemories--;
    lost.unregister(this);
  }
}

function makeMemory(bytes: number, { kernels, shared = false }: KernelMemoryOptions): MemoryHandle {
  const pages = Math.ceil((bytes + ALIGNMENT) / PAGE_BYTES);
  if (pages * PAGE_BYTES > MAX_BYTES) throw new SheafError("internal", `no kernel memory of ${bytes} bytes`);
  if (kernels === "plain" || wasmMemories >= MAX_WASM_MEMORIES) {
    const size = pages * PAGE_BYTES;
    const buffer = shared ? (new SharedArrayBuffer(size) as unknown as ArrayBuffer) : new ArrayBuffer(size);
    return { kind: "plain", memory: { buffer } };
  }
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared });
  wasmMemories++;
  return { kind: "wasm", memory };
}

function compiledKernels(base64: string): object {
  const module = compiled.get(base64) ?? new WebAssembly.Module(Buffer.from(base64, "base64"));
  compiled.set(base64, module);
  return module;
}

/** What `allocate(bytes)` takes of a memory. */
export function allocationBytes(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
