/**
 * CRC-32C (Castagnoli, reflected), sixteen bytes a step. Table k, of 256 words, advances a byte through k further zero
 * bytes.
 */

@unmanaged
class ChecksumArguments {
  bytes: usize;
  length: u32;
  /** 16 tables, one after another. */
  tables: usize;
  /** In and out: the register, neither inverted before nor after. */
  crc: u32;
}

/** Address of a byte's word in the first table; which table it is follows as a constant. */
function word(tables: usize, byte: u32): usize {
  return tables + ((<usize>byte) << 2);
}

export function crc32c(pointer: usize): void {
  const args = changetype<ChecksumArguments>(pointer);
  const t = args.tables;
  let crc = args.crc;
  let p = args.bytes;
  const end = p + args.length;
  for (; p + 16 <= end; p += 16) {
    // What does not depend on the step before comes first.
    const rest =
      load<u32>(word(t, load<u8>(p, 4)), 11 << 10) ^
      load<u32>(word(t, load<u8>(p, 5)), 10 << 10) ^
      load<u32>(word(t, load<u8>(p, 6)), 9 << 10) ^
      load<u32>(word(t, load<u8>(p, 7)), 8 << 10) ^
      load<u32>(word(t, load<u8>(p, 8)), 7 << 10) ^
      load<u32>(word(t, load<u8>(p, 9)), 6 << 10) ^
      load<u32>(word(t, load<u8>(p, 10)), 5 << 10) ^
      load<u32>(word(t, load<u8>(p, 11)), 4 << 10) ^
      load<u32>(word(t, load<u8>(p, 12)), 3 << 10) ^
      load<u32>(word(t, load<u8>(p, 13)), 2 << 10) ^
      load<u32>(word(t, load<u8>(p, 14)), 1 << 10) ^
      load<u32>(word(t, load<u8>(p, 15)));
    const first = load<u32>(p) ^ crc;
    crc =
      rest ^
      load<u32>(word(t, first & 0xff), 15 << 10) ^
      load<u32>(word(t, (first >>> 8) & 0xff), 14 << 10) ^
      (load<u32>(word(t, (first >>> 16) & 0xff), 13 << 10) ^ load<u32>(word(t, first >>> 24), 12 << 10));
  }
  for (; p < end; p++) crc = (crc >>> 8) ^ load<u32>(word(t, (crc ^ load<u8>(p)) & 0xff));
  args.crc = crc;
}
