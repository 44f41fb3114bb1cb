/** What the server says of itself, and errors. */
import type { ErrorName } from "@sheaf/protocol";
import { type JsonSchema, Type } from "../json-schema.ts";
import { arrayOf, count, words } from "../schema-parts.ts";

const ERROR_NAMES = [
  "InvalidArgumentError",
  "NotFoundError",
  "InternalError",
  "VersionMismatchError",
  "ChromaError",
  "ConditionalWriteConflictError",
  "StaleReadError",
  "TransactionsNotSupported",
  "Backoff",
  "Unimplemented",
] as const satisfies readonly ErrorName[];

export const SYSTEM_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Heartbeat: Type.Object({ "nanosecond heartbeat": count("Nanoseconds since 1970.") }),
  Healthcheck: Type.Object({ is_executor_ready: Type.Boolean(), is_log_client_ready: Type.Boolean() }),
  PreFlightChecks: Type.Object({
    max_batch_size: count("Clients split their writes by it."),
    supports_base64_encoding: Type.Boolean(),
    extensions: arrayOf(Type.String(), { description: "What the server takes that Chroma has not." }),
  }),
  Identity: Type.Object({
    user_id: Type.String({ description: "Id of the key." }),
    tenant: Type.String({ description: "The tenant that the key is bound to, or `*`." }),
    databases: arrayOf(Type.String()),
  }),
  Error: Type.Object({
    error: words(ERROR_NAMES),
    message: Type.String({ description: "What is wrong, the place in the body first." }),
  }),
};
