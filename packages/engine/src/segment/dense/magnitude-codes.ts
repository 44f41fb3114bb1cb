/**
 * A second look at candidates of a segment whose vectors are not in memory: by the signs and magnitudes of their codes, 3 bits
 * an element, which leave a quarter of what signs alone are off. See `assembly/magnitudes.ts`.
 */
import { type ArgumentBlock, setFields } from "../../kernels/argument-block.ts";
import { MAGNITUDES } from "../../kernels/argument-layouts.generated.ts";
import { MAGNITUDE } from "../../kernels/kernels.ts";
import type { DenseQuery, QueryLevels } from "./dense-query.ts";
import type { DenseSegment } from "./dense-segment.ts";
import { LEVEL_PLANES, magnitudeBytes } from "./segment-layout.ts";

const LEVELS = 2 ** LEVEL_PLANES - 1;
/** Estimates count at so many deviations above their value: of the rows right at the edge 1 in 160 is missed. */
const CONFIDENCE = 2.5;

export class MagnitudeCodes {
  readonly #segment: DenseSegment;
  readonly #args: ArgumentBlock<typeof MAGNITUDES>;
  readonly #planes: Uint8Array;
  readonly #magnitudes: Float32Array;
  /** Whose planes they are. */
  #loaded: DenseQuery["nearest"] | null = null;

  /** `best`: the candidates. */
  constructor(segment: DenseSegment, best: number) {
    const { memory, at, size, recordCodeBytes } = segment.layout;
    this.#segment = segment;
    this.#args = memory.block(MAGNITUDES);
    this.#planes = memory.u8(at.magnitudePlanes, recordCodeBytes * LEVEL_PLANES);
    this.#magnitudes = memory.f32(at.magnitudes, segment.magnitudeBytes / 4);
    setFields(this.#args, { records: at.records, codeBytes: recordCodeBytes, magnitudes: at.magnitudes });
    setFields(this.#args, { size, planes: at.magnitudePlanes, bases: at.bases, best });
  }

  /** Whether a look spares anything, and is possible. */
  get isUsed(): boolean {
    return !this.#segment.hasRows && this.#segment.hasMagnitudes;
  }

  /** Scores the candidates, whose ids are slots, and drops those that are out. The query is rotated, its bases are known. */
  refine(query: DenseQuery): void {
    if (this.#loaded !== query.nearest) this.#load(query);
    this.#segment.layout.memory.kernels.scoreMagnitudes(this.#args.pointer);
  }

  /** Tells what the candidates, which are still to be scored from their vectors, have at least, most likely. */
  expect({ nearest }: DenseQuery, slots: Uint32Array, scores: Float32Array): void {
    const { codeBytes, perError } = this.#args;
    const [stride, error] = [magnitudeBytes(codeBytes) / 4, codeBytes / 2 + MAGNITUDE.error];
    for (let i = 0; i < slots.length; i++)
      if (scores[i]! > nearest.bar)
        nearest.expect(scores[i]! - 2 * perError * this.#magnitudes[slots[i]! * stride + error]!);
  }

  /** Another query is rotated. */
  forget(): void {
    this.#loaded = null;
  }

  #load({ nearest, length, rotated }: DenseQuery): void {
    const { size } = this.#segment.layout;
    const { planes, total, scale, low } = (rotated.levels ??= buildLevels(this.#segment.rotation.vector));
    this.#planes.set(planes);
    setFields(this.#args, { total, scale, low });
    // Whatever way the error points, it is no longer than this.
    this.#args.perError = length * Math.min(Math.sqrt(size), CONFIDENCE);
    this.#loaded = nearest;
  }
}

/** Of a rotated query: 8 bytes of each plane, least significant first, for every 64 elements. */
function buildLevels(rotated: Float32Array): QueryLevels {
  const planes = new Uint8Array((rotated.length / 8) * LEVEL_PLANES);
  let largest = 0;
  for (const x of rotated) largest = Math.max(largest, Math.abs(x));
  const perUnit = largest === 0 ? 0 : LEVELS / (2 * largest);
  let total = 0;
  for (let byte = 0; byte * 8 < rotated.length; byte++) {
    const at = (byte >> 3) * 8 * LEVEL_PLANES + (byte & 7);
    for (let bit = 0; bit < 8; bit++) {
      const level = Math.floor((rotated[byte * 8 + bit]! + largest) * perUnit + 0.5);
      total += level;
      for (let plane = 0; plane < LEVEL_PLANES; plane++)
        planes[at + plane * 8]! |= ((level >> plane) & 1) << bit;
    }
  }
  return { planes, total, scale: perUnit === 0 ? 0 : 1 / perUnit, low: -largest };
}
