import { type ReactNode, useState } from "react";

/** Copies a text, and says whether it has; where a browser refuses it, the text can be selected. */
export function CopyButton({ text }: { readonly text: string }): ReactNode {
  const [state, setState] = useState<"Copy" | "Copied" | "Select it to copy it">("Copy");
  const copy = (): void => {
    // Pages that came over http from another host have no clipboard.
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    copying.then(
      () => setState("Copied"),
      () => setState("Select it to copy it"),
    );
  };
  return (
    <button type="button" className="primary" onClick={copy}>
      {state}
    </button>
  );
}
