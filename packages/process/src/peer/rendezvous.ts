/**
 * Rendezvous hashing: which of several places a key belongs to, in their order. A place that comes or goes moves the keys that are
 * its own and no others, and whoever knows the same places comes to the same order.
 */

/** The places, the one that the key belongs to first. */
export function rankByKey<T extends { readonly name: string }>(
  places: Iterable<T>,
  key: string,
): readonly T[] {
  return [...places]
    .map((place) => ({ place, weight: weightOf(place.name, key) }))
    .sort((a, b) => b.weight - a.weight || (a.place.name < b.place.name ? -1 : 1))
    .map(({ place }) => place);
}

/** FNV-1a over both, then the last step of MurmurHash3, without which names that differ in their last character are close. */
function weightOf(name: string, key: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const text of [name, "\0", key])
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
