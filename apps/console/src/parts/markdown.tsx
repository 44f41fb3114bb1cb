/** Markdown without raw HTML and without images; links go to http and https only, and tell nobody where they come from. */
import type { ReactNode } from "react";
import ReactMarkdown from "react-markdown";

const LINK = /^https?:\/\//iu;

export function Markdown({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="document markdown">
      <ReactMarkdown
        skipHtml
        disallowedElements={["img"]}
        urlTransform={(url) => (LINK.test(url) ? url : "")}
        components={{
          a: ({ href, children }) =>
            href === undefined || href === "" ? (
              <>{children}</>
            ) : (
              <a href={href} target="_blank" rel="noopener noreferrer">
                {children}
              </a>
            ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
