/** What the server says of a collection, and what it is told to make or change one. */
import type { MembersOf } from "../require-known.ts";
import type { Metadata } from "../records/metadata.ts";
import { CALL, type CallOptions } from "../transport.ts";
import type { Configuration, Schema } from "./schema.ts";

export interface CollectionInfo {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
  /** Of the dense vectors; `null` before the first. */
  readonly dimension: number | null;
  readonly metadata: Metadata | null;
  /** Complete, however the collection was described. */
  readonly schema: Schema;
  readonly configuration: Configuration;
  readonly logPosition: number;
  /** Rises when the newest writes have been indexed. */
  readonly version: number;
}

export interface CreateCollectionParams extends CallOptions {
  readonly name: string;
  readonly metadata?: Metadata | undefined;
  /** `hybridSchema()`, for one. Without it and `configuration` every record brings its embedding. */
  readonly schema?: Schema | undefined;
  readonly configuration?: Configuration | undefined;
  /** Gives the collection of this name if there is one. */
  readonly getOrCreate?: boolean | undefined;
}

export interface ModifyCollectionParams extends CallOptions {
  readonly name?: string | undefined;
  /** Replaces the metadata as a whole; keys that are `null` are left out. */
  readonly metadata?: Readonly<Record<string, Metadata[string] | null>> | undefined;
  readonly configuration?: Configuration | undefined;
}

export const CREATE_COLLECTION: MembersOf<CreateCollectionParams> = {
  name: true,
  metadata: true,
  schema: true,
  configuration: true,
  getOrCreate: true,
  ...CALL,
};
export const MODIFY_COLLECTION: MembersOf<ModifyCollectionParams> = {
  name: true,
  metadata: true,
  configuration: true,
  ...CALL,
};

/** As the server sends it. */
export interface CollectionReply {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly database: string;
  readonly dimension: number | null;
  readonly metadata: Metadata | null;
  readonly schema: Schema;
  readonly configuration_json: Configuration;
  readonly log_position: number;
  readonly version: number;
}

export function collectionInfo(reply: CollectionReply): CollectionInfo {
  const { configuration_json: configuration, log_position: logPosition, ...same } = reply;
  return { ...same, configuration, logPosition };
}
