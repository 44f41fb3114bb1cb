/** The views, and which of them a key is of use for. */
import type { View } from "../route/place.ts";
import { type Session, isRoot, may } from "../session/session.ts";

interface Entry {
  readonly view: View;
  readonly label: string;
  readonly mark: string;
  readonly isOffered: (session: Session) => boolean;
}

const reads = (session: Session): boolean => may(session, "read");

const ENTRIES: readonly Entry[] = [
  { view: "overview", label: "Overview", mark: "◫", isOffered: () => true },
  { view: "data", label: "Data", mark: "▤", isOffered: reads },
  { view: "search", label: "Search", mark: "⌕", isOffered: reads },
  { view: "lab", label: "Embedding lab", mark: "⚗", isOffered: (session) => may(session, "embed") },
  { view: "map", label: "Map", mark: "⁘", isOffered: reads },
  { view: "keys", label: "Keys", mark: "✱", isOffered: isRoot },
];

export function offeredViews(session: Session): readonly Entry[] {
  return ENTRIES.filter(({ isOffered }) => isOffered(session));
}
