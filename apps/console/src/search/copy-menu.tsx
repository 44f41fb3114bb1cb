import { type ReactNode, useState } from "react";
import { CopyButton } from "../parts/copy-button.tsx";
import { Modal } from "../parts/modal.tsx";
import { type CopiedSearch, asCurl, asPython, asTypeScript, extensionIn } from "./copy-as.ts";

const LANGUAGES = { curl: asCurl, TypeScript: asTypeScript, Python: asPython } as const;
type Language = keyof typeof LANGUAGES;

/** The search as a program to take along. */
export function CopyMenu({ search }: { readonly search: CopiedSearch }): ReactNode {
  const [language, setLanguage] = useState<Language | null>(null);
  const extension = extensionIn(search.dictionary);
  const text = language === null ? "" : LANGUAGES[language](search);
  return (
    <>
      {(Object.keys(LANGUAGES) as Language[]).map((name) => {
        const refusal =
          name !== "Python" || extension === null ? undefined : `Chroma's Search API has no ${extension}`;
        return (
          <button
            key={name}
            type="button"
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => setLanguage(name)}
          >
            {name}
          </button>
        );
      })}
      {extension !== null && (
        <span className="hint">Chroma's Search API has no {extension}: the other two send it.</span>
      )}
      <Modal title={`As ${language ?? ""}`} open={language !== null} onClose={() => setLanguage(null)} wide>
        <pre tabIndex={0}>{text}</pre>
        <div className="row">
          <CopyButton key={text} text={text} />
          {search.hasKey && (
            <span className="hint">
              Put the key into <code>SHEAF_KEY</code>.
            </span>
          )}
        </div>
      </Modal>
    </>
  );
}
