/** Writes and takes apart safetensors files, for tests that need other checkpoints than the fixtures. */
import { readFile, writeFile } from "node:fs/promises";

export interface RawTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Buffer;
}

export async function readRawTensors(file: string): Promise<Map<string, RawTensor>> {
  const bytes = await readFile(file);
  const dataStart = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.toString("utf8", 8, dataStart)) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const tensors = new Map<string, RawTensor>();
  for (const [name, { dtype, shape, data_offsets: place }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const data = bytes.subarray(dataStart + place[0], dataStart + place[1]);
    tensors.set(name, { dtype, shape, data });
  }
  return tensors;
}

export async function writeRawTensors(file: string, tensors: ReadonlyMap<string, RawTensor>): Promise<void> {
  const header: Record<string, unknown> = {};
  let offset = 0;
  for (const [name, { dtype, shape, data }] of tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.length] };
    offset += data.length;
  }
  await writeFile(
    file,
    safeTensorsBytes(JSON.stringify(header), ...[...tensors.values()].map(({ data }) => data)),
  );
}

/** A file with this header, whatever it says. */
export function safeTensorsBytes(header: string, ...data: readonly Buffer[]): Buffer {
  const text = Buffer.from(header.padEnd(Math.ceil(header.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...data]);
}

/** Rounds float32 values to half precision; denormal halves become 0. */
export function toHalf({ shape, data }: RawTensor): RawTensor {
  const halves = Buffer.alloc(data.length / 2);
  for (let i = 0; i < data.length / 4; i++) {
    const bits = data.readUInt32LE(i * 4);
    const exponent = ((bits >>> 23) & 0xff) - 112;
    const magnitude = exponent <= 0 ? 0 : ((exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1);
    halves.writeUInt16LE(((bits >>> 16) & 0x8000) | magnitude, i * 2);
  }
  return { dtype: "F16", shape, data: halves };
}
