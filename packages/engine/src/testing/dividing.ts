/** An engine whose collections are in partitions, whatever their creation says. */
import type { Engine } from "../engine.ts";

export function dividing<E extends Engine>(engine: E, partitions: number): E {
  const createCollection: Engine["createCollection"] = (request, options) =>
    engine.createCollection({ ...request, schema: { ...request.schema, partitions } }, options);
  return new Proxy(engine, {
    get(target, name): unknown {
      if (name === "createCollection") return createCollection;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
