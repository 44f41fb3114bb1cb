/** What stands around every view: where one is, where one may go, and who one is. */
import { type ReactNode, Suspense, lazy, useEffect, useState } from "react";
import { go, placeLink, usePlace } from "../route/place.ts";
import { signOut } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { keepFocus } from "./keep-focus.ts";
import { MissingPlace } from "./missing-place.tsx";
import { Palette } from "./palette.tsx";
import { Pickers } from "./pickers.tsx";
import { nextTheme, storedTheme } from "./theme.ts";
import { offeredViews } from "./offered-views.ts";

const ManageDialog = lazy(() =>
  import("../collections/manage-dialog.tsx").then((made) => ({ default: made.ManageDialog })),
);

export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const session = useSession();
  const place = usePlace();
  const { view } = place;
  const [palette, setPalette] = useState(false);
  useShortcuts(() => setPalette(true));
  const entries = offeredViews(session);
  useFocus();
  const title = entries.find((entry) => entry.view === view)?.label ?? "Sheaf";
  useEffect(() => {
    document.title = `${title} · Sheaf`;
  }, [title]);
  useEffect(() => {
    scrollTo(0, 0);
  }, [view]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(event) => skip(event)}>
        Skip to the view
      </a>
      <nav aria-label="Views">
        <p className="brand">Sheaf</p>
        {entries.map((entry) => (
          <a
            key={entry.view}
            href={placeLink(place, { view: entry.view })}
            aria-current={entry.view === view && place.strange === null ? "page" : undefined}
          >
            <span aria-hidden="true">{entry.mark}</span> {entry.label}
          </a>
        ))}
      </nav>
      <header className="bar">
        <Pickers />
        <div className="actions">
          <button type="button" onClick={() => setPalette(true)} title="Ctrl K">
            Go to…
          </button>
          <ThemeButton />
          {session.key !== null && (
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <MissingPlace>
          {entries.some((entry) => entry.view === view) ? (
            children
          ) : (
            <p className="empty">The key may not use this view.</p>
          )}
        </MissingPlace>
      </main>
      {place.params["manage"] !== undefined && (
        <Suspense>
          <ManageDialog />
        </Suspense>
      )}
      <Palette open={palette} onClose={() => setPalette(false)} />
    </div>
  );
}

function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** It begins at the view, not at the links before it, and is not lost while a key is used. */
function useFocus(): void {
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById("main")?.focus();
    return keepFocus();
  }, []);
}

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme());
  return (
    <button type="button" onClick={() => setTheme(nextTheme())}>
      Theme: {theme}
    </button>
  );
}

/** Ctrl K opens the palette, `/` goes to the search field of the view. */
function useShortcuts(openPalette: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        openPalette();
      } else if (event.key === "/" && !isTyping(event.target)) {
        const field = document.querySelector<HTMLElement>("[data-search]");
        if (field !== null) {
          event.preventDefault();
          field.focus();
        } else go({ view: "search" });
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName))
  );
}
