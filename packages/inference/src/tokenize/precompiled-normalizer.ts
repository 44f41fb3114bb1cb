/**
 * SentencePiece's precompiled normalisation map, applied exactly as Rust `tokenizers` applies it
 * (https://docs.rs/spm_precompiled). Text is taken grapheme cluster by grapheme cluster: a cluster below 6 bytes of
 * UTF-8 that has a hit is replaced as a whole, otherwise each of its code points with a hit is. A hit is the shortest
 * key that starts the bytes, even if bytes remain. `@huggingface/tokenizers` only approximates this with NFKC, which
 * gives other ids for zero-width joiners and combining marks.
 *
 * The map is a u32 little-endian trie size in bytes, a double array as written by darts-clone
 * (https://github.com/s-yata/darts-clone), then NUL-terminated UTF-8 replacements.
 */
import { SheafError } from "@sheaf/protocol";

const SIZE_BYTES = 4;
const UNIT_BYTES = 4;
const MAX_CLUSTER_BYTES = 6;
/** Texts use few distinct characters; the bound only stops a hostile stream of rare ones. */
const MAX_KNOWN = 65_536;
const LEAF_BIT = 1 << 8;
const LABEL_MASK = 0x8000_00ff;
const VALUE_MASK = 0x7fff_ffff;

/**
 * UTF-16 units handed to the segmenter at once. Its cost per cluster grows with the length of its text (16,000 units of
 * Japanese take 0.7 s), so a text is never given to it whole.
 */
const WINDOW_UNITS = 64;

/** Throws 503 `model_unavailable` if the map is damaged. */
export function createPrecompiledNormalizer(charsmapBase64: string): (text: string) => string {
  const charsmap = new Charsmap(Buffer.from(charsmapBase64, "base64"));

  const replaceEach = (text: string): string => {
    let result = "";
    for (const character of text) result += charsmap.replacement(character) ?? character;
    return result;
  };
  const replaceCluster = (cluster: string): string => {
    const whole = Buffer.byteLength(cluster) < MAX_CLUSTER_BYTES ? charsmap.replacement(cluster) : null;
    return whole ?? replaceEach(cluster);
  };

  return (text) => {
    let result = "";
    let position = 0;
    while (position < text.length) {
      const plainEnd = endOfPlainRun(text, position);
      result += replaceEach(text.slice(position, plainEnd));
      const clusters = nextClusters(text, plainEnd);
      for (const cluster of clusters) result += replaceCluster(cluster);
      position = clusters.reduce((end, cluster) => end + cluster.length, plainEnd);
    }
    return result;
  };
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/** Some grapheme clusters from `start`, which is a border between two; none only at the end of the text. */
function nextClusters(text: string, start: number): string[] {
  for (let units = WINDOW_UNITS; ; units *= 2) {
    let end = Math.min(start + units, text.length);
    // Half a surrogate pair would look like a border.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    const clusters = Array.from(segmenter.segment(text.slice(start, end)), ({ segment }) => segment);
    if (end === text.length) return clusters;
    // The last cluster may go on behind the window; the borders before it depend on nothing further right.
    clusters.pop();
    if (clusters.length > 0) return clusters;
  }
}

/** End of the run of units from `start`, a border, that are clusters of their own whatever follows the run. */
function endOfPlainRun(text: string, start: number): number {
  let end = start;
  while (end < text.length && isPlain(text.charCodeAt(end))) end += 1;
  // What follows may be a mark that joins the run's last unit.
  return end < text.length && end > start ? end - 1 : end;
}

/** Characters of large scripts that join no other: neither marks nor Hangul nor line breaks, which join as CR LF. */
function isPlain(unit: number): boolean {
  if (unit < 0x300) return unit !== 0x0a && unit !== 0x0d;
  if (unit < 0x530) return (unit >= 0x370 && unit <= 0x482) || unit >= 0x48a;
  return (unit >= 0x3001 && unit <= 0x3029) || (unit >= 0x3041 && unit <= 0x3096) || isKatakanaOrHan(unit);
}

function isKatakanaOrHan(unit: number): boolean {
  return (unit >= 0x30a0 && unit <= 0x30ff) || (unit >= 0x3400 && unit <= 0x9fff);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** What the exchange below touches of a normalizer of `@huggingface/tokenizers`, whose own types do not resolve. */
interface LibraryNormalizer {
  readonly config: { readonly type?: string; readonly precompiled_charsmap?: string | null };
  /** The steps of a sequence. */
  readonly normalizers?: readonly (LibraryNormalizer | null)[];
  normalize(text: string): string;
}

/** A `Tokenizer` of `@huggingface/tokenizers`. */
export interface NormalizingTokenizer {
  readonly normalizer: LibraryNormalizer | null;
}

/**
 * Replaces the approximated `Precompiled` normalizer of a tokenizer, alone or inside sequences, by the exact one; other
 * tokenizers stay as they are. Call it once, before the first text.
 */
export function useExactCharsmap(tokenizer: NormalizingTokenizer): void {
  if (tokenizer.normalizer !== null) exchange(tokenizer.normalizer);
}

function exchange(normalizer: LibraryNormalizer): void {
  const { type, precompiled_charsmap: charsmap } = normalizer.config;
  if (type === "Precompiled" && typeof charsmap === "string") {
    normalizer.normalize = createPrecompiledNormalizer(charsmap);
  }
  for (const step of normalizer.normalizers ?? []) if (step !== null) exchange(step);
}

/** Looks up the shortest key that starts a text. */
class Charsmap {
  readonly #units: Uint32Array;
  readonly #replacements: Buffer;
  readonly #known = new Map<string, string | null>();

  constructor(bytes: Buffer) {
    const trieBytes = bytes.length < SIZE_BYTES ? 0 : bytes.readUInt32LE();
    if (trieBytes === 0 || trieBytes % UNIT_BYTES !== 0 || SIZE_BYTES + trieBytes > bytes.length) {
      throw new SheafError("model_unavailable", "the tokenizer's precompiled_charsmap is damaged");
    }
    this.#units = new Uint32Array(trieBytes / UNIT_BYTES);
    for (let i = 0; i < this.#units.length; i++) {
      this.#units[i] = bytes.readUInt32LE(SIZE_BYTES + i * UNIT_BYTES);
    }
    this.#replacements = bytes.subarray(SIZE_BYTES + trieBytes);
  }

  /** `null`: no hit. */
  replacement(text: string): string | null {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const found = this.#find(Buffer.from(text, "utf8"));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(text, found);
    return found;
  }

  #find(key: Buffer): string | null {
    let position = offset(this.#units[0] ?? 0);
    for (const byte of key) {
      if (byte === 0) return null;
      position ^= byte;
      const unit = this.#units[position] ?? 0;
      if ((unit & LABEL_MASK) >>> 0 !== byte) return null;
      position ^= offset(unit);
      if ((unit & LEAF_BIT) !== 0) return this.#string((this.#units[position] ?? 0) & VALUE_MASK);
    }
    return null;
  }

  #string(start: number): string {
    const end = this.#replacements.indexOf(0, start);
    return this.#replacements.toString("utf8", start, end === -1 ? undefined : end);
  }
}

/** Distance to the children of a unit. */
function offset(unit: number): number {
  return (unit >>> 10) << ((unit & (1 << 9)) >>> 6);
}
