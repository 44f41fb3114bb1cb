/**
 * Large messages apart from a channel: encoded by whoever made them, on another thread perhaps, carried as bytes, and read
 * in slices where they are used. A packed message names its members by itself, and its long typed arrays stand beside the
 * bytes, so that they cross threads without a copy and own their memory where they arrive.
 *
 * Whoever has unpacked a message may hand it on as it came: `packedFormOf` finds the bytes again, and a channel sends those.
 */
import type { CancelSignal } from "@sheaf/protocol";
import { MessageDecoder } from "./message-decoder.ts";
import { type Detached, MessageEncoder } from "./message-encoder.ts";
import { Turns } from "./turns.ts";

/** A message in pieces that are not to be changed: its bytes, then its long typed arrays as bytes. */
export type PackedMessage = readonly Uint8Array[];

/** From here on a typed array stands beside the bytes; each is a transfer and a frame of its own. */
const LONG_ARRAY_BYTES = 64 * 1024;

const forms = new WeakMap<object, PackedMessage>();

/** Throws for what cannot be cloned. The pieces own their memory, or are views of arrays in the message. */
export function packMessage(message: unknown): PackedMessage {
  const detached: Detached = { views: [], fromBytes: LONG_ARRAY_BYTES };
  const bytes = new MessageEncoder().encode(message, 0, undefined, detached);
  return [bytes, ...detached.views.map(bytesOf)];
}

/** Has the message sent as packed by whoever sends it. */
export function packAtOnce(message: object): void {
  forms.set(message, packMessage(message));
}

/** `packAtOnce`, with turns of the event loop in between. Throws after an abort. */
export async function packInTurns(message: object, signal?: CancelSignal): Promise<void> {
  const detached: Detached = { views: [], fromBytes: LONG_ARRAY_BYTES };
  const bytes = await new MessageEncoder().encodeInTurns(message, detached, new Turns(signal));
  forms.set(message, [bytes, ...detached.views.map(bytesOf)]);
}

/** Throws after an abort. Typed arrays of the message are views of the pieces. */
export async function unpackMessage(packed: PackedMessage, signal?: CancelSignal): Promise<unknown> {
  const [bytes, ...detached] = packed;
  if (bytes === undefined) throw new RangeError("a packed message has no bytes");
  const message = await new MessageDecoder().decodeInTurns(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    detached,
    new Turns(signal),
  );
  if (typeof message === "object" && message !== null) forms.set(message, packed);
  return message;
}

/** For whoever only hands the message on: it has no members here. */
export function unopenedMessage(packed: PackedMessage): object {
  const message = Object.freeze({});
  forms.set(message, packed);
  return message;
}

/** Bytes that are sent of a message that is packed; `null`: it is not. */
export function packedBytes(message: object): number | null {
  return forms.get(message)?.reduce((sum, { length }) => sum + length, 0) ?? null;
}

/** `undefined`: the value does not come from a packed message. */
export function packedFormOf(value: unknown): PackedMessage | undefined {
  return typeof value === "object" && value !== null ? forms.get(value) : undefined;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
