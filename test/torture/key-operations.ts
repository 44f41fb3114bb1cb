/** Keys are made, rotated without an overlap, and revoked. */
import { type IssuedKey, type OwnKey, withKey, withRevoked } from "./holding.ts";
import type { Desk, Operation } from "./operation.ts";
import { KEYS } from "./routes.ts";

const NAMES = ["one", "two"];

/** `null`: nothing can be done to a key whose id is not known yet. */
export function keyOperation(desk: Desk): Operation {
  const { owner, choices, holding } = desk;
  const name = `${owner}-${choices.one(NAMES)}`;
  const key = holding.keys.get(name);
  if (key === undefined) return makeKey(desk, name);
  if (key.old !== null) return revokeOld(desk, name, { ...key, old: key.old });
  return choices.chance(0.5) ? rotateKey(desk, name, key) : revokeKey(desk, name, key);
}

/** An id that no key has. */
export function revokeUnknown({ holding }: Desk): Operation {
  return { ...revoke("key_0000000000000000"), refused: 404, after: () => holding };
}

function makeKey({ holding }: Desk, name: string): Operation {
  return {
    kind: "make key",
    request: { method: "POST", path: KEYS, json: { name, tenant: null, scopes: ["read"] } },
    refused: null,
    after: (reply) => withKey(holding, name, { ...issuedOf(reply), old: null }),
  };
}

function rotateKey({ holding }: Desk, name: string, { id, secret }: OwnKey): Operation {
  return {
    kind: "rotate key",
    request: { method: "POST", path: `${KEYS}/${id}/rotate`, json: { overlap_seconds: 0 } },
    refused: null,
    after: (reply) => withKey(holding, name, { ...issuedOf(reply), old: { id, secret } }),
  };
}

function revokeOld({ holding }: Desk, name: string, key: OwnKey & { readonly old: IssuedKey }): Operation {
  const { old } = key;
  const without = withKey(holding, name, { ...key, old: null });
  return { ...revoke(old.id), after: () => withRevoked(without, old.secret) };
}

function revokeKey({ holding }: Desk, name: string, { id, secret }: OwnKey): Operation {
  return { ...revoke(id), after: () => withRevoked(withKey(holding, name, null), secret) };
}

function revoke(id: string | null): Pick<Operation, "kind" | "request" | "refused"> {
  return { kind: "revoke key", request: { method: "DELETE", path: `${KEYS}/${id}` }, refused: null };
}

function issuedOf(reply: unknown): IssuedKey {
  if (reply === null) return { id: null, secret: null };
  const { id, key } = reply as { id: string; key: string };
  return { id, secret: key };
}
