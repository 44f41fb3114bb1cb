/** A document as text, as Markdown or as JSON, whatever somebody has stored. */
import { type ReactNode, Suspense, lazy, useState } from "react";
import { Boundary } from "./boundary.tsx";
import { number } from "./format.ts";

const Markdown = lazy(() => import("./markdown.tsx").then(({ Markdown: made }) => ({ default: made })));

/** Some texts take the parser time that grows with the square of their length: this much of the worst takes a second. */
const MOST_MARKDOWN = 10_000;
/** Quotes and lists in each other, for each of which the parser calls itself. */
const DEEP = /(?:>[ \t]*){50}|(?:(?:[-*+]|\d+[.)])[ \t]+){50}/u;
const TOO_DEEP = "It is nested too deeply to be shown as Markdown.";
const MOST_GROWTH = 4;
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
      {form === "Text" && <Plain text={text} />}
      {form === "Markdown" && (
        <Boundary show={() => <Plain text={text} why={TOO_DEEP} />}>
          <Suspense fallback={<Plain text={text} />}>
            {reasonNotTo(text) === null ? (
              <Markdown text={text} />
            ) : (
              <Plain text={text} why={reasonNotTo(text) ?? ""} />
            )}
          </Suspense>
        </Boundary>
      )}
      {form === "JSON" && <JsonText text={text} />}
    </>
  );
}

/** Why a document is not shown as Markdown; `null`: it is. */
function reasonNotTo(text: string): string | null {
  if (text.length > MOST_MARKDOWN)
    return `Only documents of up to ${number(MOST_MARKDOWN)} characters are shown as Markdown.`;
  return DEEP.test(text) ? TOO_DEEP : null;
}

function Plain({ text, why = "" }: { readonly text: string; readonly why?: string }): ReactNode {
  return (
    <>
      {why !== "" && <p className="hint">{why}</p>}
      <div className="document">{text}</div>
    </>
  );
}

function JsonText({ text }: { readonly text: string }): ReactNode {
  let indented: string;
  try {
    indented = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return <Plain text={text} why="The document is no JSON." />;
  }
  // Each level indents all that is in it.
  if (indented.length > MOST_GROWTH * text.length + MOST_MARKDOWN)
    return <Plain text={text} why="It is nested too deeply to be indented." />;
  return <pre tabIndex={0}>{indented}</pre>;
}
