import { randomUUID } from "node:crypto";
import { parseCreateCollection } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { type CollectionEntry, encodeCollection } from "./catalog-codec.ts";
import { collectionKey, idBytes } from "./catalog-keys.ts";
import { decodingOnce } from "./decoded-collections.ts";

const AT = { tenant: "t", database: "d" };

function entryOf(name: string): CollectionEntry {
  const id = randomUUID();
  const { metadata, configuration, schema } = parseCreateCollection({ name }, AT);
  return {
    ...{ ...AT, id, name, metadata, configuration, schema, databaseId: id, created: 0 },
    ...{
      dimension: null,
      logPosition: 0,
      version: 0,
      models: {},
      tree: id,
      epoch: "",
      shared: false,
      held: null,
    },
  };
}

it("decodes the same bytes of a collection once, others anew, and damaged ones never", () => {
  const decode = decodingOnce();
  const [one, other] = [entryOf("one"), entryOf("other")];
  const originOf = ({ id }: CollectionEntry): { store: string; key: Uint8Array } => ({
    ...{ store: "catalog", key: collectionKey(idBytes(id)) },
  });
  const first = decode(encodeCollection(one), originOf(one));
  expect(first).toEqual(one);
  expect(decode(encodeCollection(other), originOf(other))).toEqual(other);
  expect(decode(encodeCollection(one), originOf(one))).toBe(first);
  const changed = { ...one, version: 1 };
  expect(decode(encodeCollection(changed), originOf(one))).toEqual(changed);
  const damaged = encodeCollection(changed);
  damaged[damaged.length - 9]! ^= 1;
  expect(() => decode(damaged, originOf(one))).toThrow();
  expect(decode(encodeCollection(one), originOf(one))).toEqual(one);
});
