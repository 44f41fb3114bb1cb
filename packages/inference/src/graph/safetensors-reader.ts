/**
 * Reads where the tensors of a safetensors checkpoint lie (https://github.com/huggingface/safetensors#format): a u64
 * little-endian header length, a JSON header, then the data. Data is never loaded; ONNX Runtime maps it in place.
 * Invariant: every tensor returned lies within its file and is exactly as long as its type and shape demand.
 */
import path from "node:path";
import { LIMITS } from "@sheaf/protocol";
import {
  isObject,
  modelFileError as damaged,
  openModelFile,
  parseObject,
  readModelJson,
} from "./model-file.ts";
import type { ElementType } from "./onnx-writer.ts";

/** A floating-point tensor in a file. */
export interface SafeTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Absolute path. */
  readonly file: string;
  /** From the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

export type SafeTensors = ReadonlyMap<string, SafeTensor>;

const HEADER_LENGTH_BYTES = 8;

/** The types that weights come in; buffers of other types (position ids) are left out. */
const FLOAT_TYPES: ReadonlyMap<string, { readonly type: ElementType; readonly bytes: number }> = new Map([
  ["F32", { type: "float32", bytes: 4 }],
  ["F16", { type: "float16", bytes: 2 }],
  ["BF16", { type: "bfloat16", bytes: 2 }],
]);

/**
 * The tensors of one `.safetensors` file, or of all shards that a `.safetensors.index.json` names.
 * Throws 503 `model_unavailable` naming the file and what is wrong with it.
 */
export async function readSafeTensors(file: string): Promise<SafeTensors> {
  if (!file.endsWith(".json")) return readShard(file);
  const index = await readModelJson(file);
  const weightMap = index["weight_map"];
  if (!isObject(weightMap)) throw damaged(file, "no weight_map");
  const shards = new Set<string>();
  for (const shard of Object.values(weightMap)) {
    if (typeof shard !== "string" || path.basename(shard) !== shard)
      throw damaged(file, "weight_map names no file");
    shards.add(shard);
  }
  const tensors = new Map<string, SafeTensor>();
  for (const shard of shards) {
    const shardFile = path.join(path.dirname(file), shard);
    for (const [name, tensor] of await readShard(shardFile)) {
      // A tensor counts only where the index places it.
      if (weightMap[name] === shard) tensors.set(name, tensor);
    }
  }
  return tensors;
}

async function readShard(file: string): Promise<SafeTensors> {
  const { header, dataStart, fileBytes } = await readHeader(file);
  const tensors = new Map<string, SafeTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const tensor = parseEntry(entry, { file, name, dataStart, fileBytes });
    if (tensor !== null) tensors.set(name, tensor);
  }
  return tensors;
}

async function readHeader(
  file: string,
): Promise<{ header: Record<string, unknown>; dataStart: number; fileBytes: number }> {
  const handle = await openModelFile(file);
  try {
    const { size: fileBytes } = await handle.stat();
    const prefix = Buffer.alloc(HEADER_LENGTH_BYTES);
    const { bytesRead } = await handle.read(prefix, 0, HEADER_LENGTH_BYTES, 0);
    const headerBytes = bytesRead === HEADER_LENGTH_BYTES ? prefix.readBigUInt64LE() : 0n;
    if (headerBytes === 0n || headerBytes > BigInt(LIMITS.modelHeaderBytes)) {
      throw damaged(file, `header length ${headerBytes}, the limit is ${LIMITS.modelHeaderBytes} bytes`);
    }
    const dataStart = HEADER_LENGTH_BYTES + Number(headerBytes);
    if (dataStart > fileBytes) throw damaged(file, "header is cut off");
    const text = Buffer.alloc(Number(headerBytes));
    await handle.read(text, 0, text.length, HEADER_LENGTH_BYTES);
    return { header: parseObject(file, text.toString("utf8")), dataStart, fileBytes };
  } finally {
    await handle.close();
  }
}

interface EntryPlace {
  readonly file: string;
  readonly name: string;
  readonly dataStart: number;
  readonly fileBytes: number;
}

function parseEntry(entry: unknown, place: EntryPlace): SafeTensor | null {
  const { file, name, dataStart, fileBytes } = place;
  if (!isObject(entry)) throw damaged(file, `tensor ${name} has no description`);
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== "string" || !isLengths(shape) || !isLengths(offsets) || offsets.length !== 2) {
    throw damaged(file, `tensor ${name} has no dtype, shape or data_offsets`);
  }
  const [begin = 0, end = 0] = offsets;
  if (begin > end || dataStart + end > fileBytes) throw damaged(file, `tensor ${name} lies outside the file`);
  const float = FLOAT_TYPES.get(dtype);
  if (float === undefined) return null;
  const byteLength = shape.reduce((product, length) => product * length, float.bytes);
  if (byteLength !== end - begin) {
    throw damaged(file, `tensor ${name} has ${end - begin} bytes, its shape needs ${byteLength}`);
  }
  return { type: float.type, shape, file, offset: dataStart + begin, byteLength };
}

function isLengths(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((length) => Number.isSafeInteger(length) && length >= 0);
}
