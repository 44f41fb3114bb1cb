/** Where documents match, in the rows of a search and a get. */

/** A part of a document, in UTF-16 units: `document.slice(start, end)`. */
export interface Highlight {
  readonly start: number;
  readonly end: number;
  /** What has found it: text queries on `sheaf/bm25` indexes, filters on the document. */
  readonly by: readonly ("$contains" | "$regex" | "$knn")[];
}

/** The part of a document with the most highlights. */
export interface Snippet {
  readonly text: string;
  /** Where it begins in the document. */
  readonly start: number;
  /** Relative to the snippet. */
  readonly highlights: readonly Highlight[];
}

/** `true`, or the longest length of a snippet. */
export type HighlightInput = true | { readonly snippet?: number };

/** What rows have beside what is selected; `null` for a record without a document. */
export type Highlighted<H> = [H] extends [undefined]
  ? unknown
  : { readonly highlights: readonly Highlight[] | null } & ([H] extends [{ readonly snippet: number }]
      ? { readonly snippet: Snippet | null }
      : unknown);
