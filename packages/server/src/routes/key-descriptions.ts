/** What the API description says of the key routes. */
import { Type } from "../openapi/json-schema.ts";
import { type RouteDescription, answers } from "../http/route-description.ts";
import { ref } from "../openapi/schema-parts.ts";
import { PAGE, answersList } from "./tenant-descriptions.ts";

const BY_ID = { key: Type.String({ description: "Id of the key." }) } as const;

export const KEYS = {
  create: {
    summary: "Make a key",
    tag: "Keys",
    body: ref("KeyBody"),
    replies: answers(ref("IssuedKey")),
    errors: ["not_found", "failed_precondition"],
  },
  list: {
    summary: "List keys",
    tag: "Keys",
    query: PAGE,
    replies: answersList(ref("Key"), "The oldest first."),
    errors: ["too_large"],
  },
  revoke: { summary: "Revoke a key", tag: "Keys", path: BY_ID, replies: answers(ref("Empty")) },
  rotate: {
    summary: "Replace a key by a new one",
    details: "The old key goes on for a while, so that its users can change over.",
    tag: "Keys",
    path: BY_ID,
    body: ref("RotateBody"),
    replies: answers(ref("IssuedKey")),
    errors: ["already_exists", "failed_precondition"],
  },
} as const satisfies Record<string, RouteDescription>;
