/**
 * Where the user is: a view, a collection and the state of the view, all of it in the fragment of the address. No server or
 * proxy sees the fragment, and opening a link only reads.
 */
import { useSyncExternalStore } from "react";

export const VIEWS = ["overview", "data", "search", "lab", "map", "keys"] as const;
export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  /** `null`: the first that the key may see. */
  readonly tenant: string | null;
  readonly database: string | null;
  /** By name. */
  readonly collection: string | null;
  readonly params: Readonly<Record<string, string>>;
  /** What stands where a view should, if it is none. */
  readonly strange: string | null;
}

/** No names: a path with them would lead elsewhere. */
const NO_NAMES: ReadonlySet<string> = new Set(["", ".", ".."]);

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/u, "").split("?", 2);
  const [view, ...names] = path.split("/").map(decoded);
  const [tenant, database, collection] = names.map((name) => (NO_NAMES.has(name) ? null : name));
  const known = VIEWS.find((name) => name === view);
  return {
    view: known ?? "overview",
    strange: known === undefined && view !== undefined && view !== "" ? view : null,
    ...{ tenant: tenant ?? null, database: database ?? null, collection: collection ?? null },
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

export function writePlace({ view, tenant, database, collection, params }: Omit<Place, "strange">): string {
  const names = [tenant, database, collection].map((name) => encodeURIComponent(name ?? ""));
  while (names.at(-1) === "") names.pop();
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== "")).toString();
  return `#/${[view, ...names].join("/")}${query === "" ? "" : `?${query}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let known: { readonly hash: string; readonly place: Place } | null = null;

function currentPlace(): Place {
  const { hash } = location;
  if (known?.hash !== hash) known = { hash, place: parsePlace(hash) };
  return known.place;
}

function watch(onChange: () => void): () => void {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
}

export function usePlace(): Place {
  return useSyncExternalStore(watch, currentPlace);
}

/** The address of a place as a link has it: what is not named stays as it is, without the state of the view. */
export function placeLink(from: Place, change: Partial<Place>): string {
  return writePlace({ ...from, params: {}, ...change });
}

/** Another place: a step that the browser's back button takes back. */
export function go(change: Partial<Place>): void {
  location.hash = placeLink(currentPlace(), change);
}

/** Other state of the same view; what is `""` is left out. */
export function setParams(change: Readonly<Record<string, string>>, step: "new" | "same" = "same"): void {
  const place = currentPlace();
  const hash = writePlace({ ...place, params: { ...place.params, ...change } });
  if (step === "new") location.hash = hash;
  else {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
