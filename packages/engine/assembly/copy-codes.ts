/**
 * The codes of rows from all over a segment, side by side: from the rows' records (see `score-codes.ts`) to blocks of
 * 32 for FastScan, with what else it needs of each row.
 */
@unmanaged
class CopyArguments {
  records: usize;
  /** Of a code in its record, a multiple of 16; the factor, the bias and the list follow. */
  codeBytes: u32;
  /** Of a code in a block, a multiple of 8: the record may have zeros behind it. */
  copiedBytes: u32;
  /** u32 row numbers. */
  ids: usize;
  count: u32;
  /** Out, by the number's position: blocks, f32, f32 and u16. */
  blocks: usize;
  factors: usize;
  biases: usize;
  lists: usize;
}

/** Records that are asked for before the first of them is needed, so that their cache misses overlap. */
const AHEAD: u32 = 16;

function recordOf(args: CopyArguments, i: u32): usize {
  return args.records + <usize>load<u32>(args.ids + ((<usize>i) << 2)) * (args.codeBytes + 16);
}

function touch(args: CopyArguments, from: u32): void {
  const end = min(from + AHEAD, args.count);
  for (let i = from; i < end; i++) {
    const record = recordOf(args, i);
    for (let line: usize = 0; line < args.codeBytes + 16; line += 64) load<u32>(record + line);
  }
}

export function copyCodes(pointer: usize): void {
  const args = changetype<CopyArguments>(pointer);
  const blockBytes = (<usize>args.copiedBytes) << 5;
  for (let i: u32 = 0; i < args.count; i++) {
    if ((i & (AHEAD - 1)) == 0) touch(args, i);
    let p = recordOf(args, i);
    const rest = p + args.codeBytes;
    const end = p + args.copiedBytes;
    let target = args.blocks + <usize>(i >>> 5) * blockBytes + (i & 31);
    for (; p < end; p += 8) {
      const eight = load<u64>(p);
      store<u8>(target, eight);
      store<u8>(target, eight >> 8, 32);
      store<u8>(target, eight >> 16, 64);
      store<u8>(target, eight >> 24, 96);
      store<u8>(target, eight >> 32, 128);
      store<u8>(target, eight >> 40, 160);
      store<u8>(target, eight >> 48, 192);
      store<u8>(target, eight >> 56, 224);
      target += 256;
    }
    const at = (<usize>i) << 2;
    store<u32>(args.factors + at, load<u32>(rest));
    store<u32>(args.biases + at, load<u32>(rest, 4));
    store<u16>(args.lists + (at >> 1), load<u32>(rest, 8));
  }
}
