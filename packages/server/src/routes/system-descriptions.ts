/** What the API description says of the system routes. */
import { Type } from "../openapi/json-schema.ts";
import { type RouteDescription, answers } from "../http/route-description.ts";
import { anyObject, ref } from "../openapi/schema-parts.ts";

export const SYSTEM = {
  heartbeat: {
    summary: "The time of the server",
    details: "503 until the server has started once.",
    tag: "System",
    replies: answers(ref("Heartbeat")),
    errors: ["unavailable"],
  },
  healthcheck: {
    summary: "Whether the parts of the server serve",
    tag: "System",
    replies: {
      200: { description: "All of them do.", schema: ref("Healthcheck") },
      503: { description: "The server is starting or stopping.", schema: ref("Healthcheck") },
    },
  },
  alive: { summary: "Whether the process runs", tag: "System", replies: answers(ref("Empty")) },
  ready: {
    summary: "Whether the server takes requests",
    tag: "System",
    replies: answers(ref("Empty")),
    errors: ["unavailable"],
  },
  version: {
    summary: "Version of the interface",
    tag: "System",
    replies: answers(Type.String({ examples: ["1.0.0"] })),
  },
  preFlight: {
    summary: "What clients should know before they write",
    tag: "System",
    replies: answers(ref("PreFlightChecks")),
  },
  identity: { summary: "Who the key speaks for", tag: "System", replies: answers(ref("Identity")) },
  reset: {
    summary: "Remove everything",
    details: "403 unless the server allows it.",
    tag: "System",
    replies: answers(Type.Boolean()),
  },
  metrics: {
    summary: "Metrics of the server",
    tag: "System",
    replies: {
      200: {
        description: "In the text format of Prometheus.",
        schema: Type.String(),
        mediaType: "text/plain",
      },
    },
  },
  document: {
    summary: "The description of this API",
    tag: "System",
    replies: answers(anyObject("An OpenAPI 3.1 document.")),
  },
  embedDocument: {
    summary: "The description of the embedding API",
    tag: "System",
    replies: answers(anyObject("An OpenAPI 3.1 document.")),
  },
} as const satisfies Record<string, RouteDescription>;
