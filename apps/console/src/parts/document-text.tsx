/** A document as text, as Markdown or as JSON, whatever somebody has stored. */
import { type ReactNode, Suspense, lazy, useState } from "react";

const Markdown = lazy(() => import("./markdown.tsx").then(({ Markdown: made }) => ({ default: made })));

const FORMS = ["Text", "Markdown", "JSON"] as const;
type Form = (typeof FORMS)[number];

export function DocumentText({ text }: { readonly text: string }): ReactNode {
  const [form, setForm] = useState<Form>("Text");
  return (
    <>
      <div className="chips" role="group" aria-label="Show as">
        {FORMS.map((name) => (
          <button
            key={name}
            type="button"
            className="chip"
            aria-pressed={name === form}
            onClick={() => setForm(name)}
          >
            {name}
          </button>
        ))}
      </div>
      {form === "Text" && <div className="document">{text}</div>}
      {form === "Markdown" && (
        <Suspense fallback={<div className="document">{text}</div>}>
          <Markdown text={text} />
        </Suspense>
      )}
      {form === "JSON" && <pre>{indented(text)}</pre>}
    </>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
