/** Numbers of the kinds of metadata values. They are on disk, in records and in index files: never change or reuse one. */
import type { MetadataKind } from "@sheaf/protocol";

export const KIND_NUMBER: Readonly<Record<MetadataKind, number>> = {
  bool: 0,
  int: 1,
  float: 2,
  string: 3,
  sparse_vector: 4,
  bool_array: 5,
  int_array: 6,
  float_array: 7,
  string_array: 8,
};

export const METADATA_KINDS = Object.keys(KIND_NUMBER) as readonly MetadataKind[];

const KIND_OF_NUMBER = new Map(METADATA_KINDS.map((kind) => [KIND_NUMBER[kind], kind]));

/** `undefined`: there is no such kind. */
export function kindOf(number: number): MetadataKind | undefined {
  return KIND_OF_NUMBER.get(number);
}
