/**
 * Where sections of a Markdown text begin: at its ATX and setext headings (CommonMark 0.31, sections 4.2 and 4.3), not
 * in fenced code. Headings that only blank lines part begin one section. Linear in the text, which may be a part of a longer one.
 */

/** What a part of a text has to know of the text before it. */
export interface MarkdownState {
  /** What opened the code that the part begins in; "": it begins in none. */
  readonly fence: string;
  /** The part begins with a line. */
  readonly atLine: boolean;
}

export const MARKDOWN_START: MarkdownState = Object.freeze({ fence: "", atLine: true });

export interface Sections {
  /** Ascending offsets of lines. */
  readonly starts: readonly number[];
  /** `MarkdownState.fence` of what follows. */
  readonly fence: string;
}

/** Nothing that lines are told apart by lies further on. */
const LOOKED_AT = 1_000;
const BLANK = /^\s*$/u;
const ATX = /^ {0,3}#{1,6}(?:[ \t\r]|$)/u;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t\r]*$/u;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/u;
const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t\r]*$/u;
/** Quotes and lists, whose last line no underline makes a heading. */
const CONTAINER = /^ {0,3}(?:[>*+-]|\d{1,9}[.)])/u;

export function sectionStarts(text: string, state: MarkdownState): Sections {
  const scan = new SectionScan(state.fence);
  let from = 0;
  if (!state.atLine) from = text.indexOf("\n") + 1 || text.length;
  while (from < text.length) {
    const end = text.indexOf("\n", from) + 1 || text.length;
    scan.line(text.slice(from, Math.min(end, from + LOOKED_AT)).replace(/\n$/u, ""), from);
    from = end;
  }
  return { starts: scan.starts, fence: scan.fence };
}

/** A paragraph that the next line may go on with, or make a heading. */
interface Paragraph {
  readonly at: number;
  /** Nothing but blank lines are between a heading and it. */
  readonly followsHeading: boolean;
}

class SectionScan {
  readonly starts: number[] = [];
  fence: string;
  #paragraph: Paragraph | null = null;
  #followsHeading = false;

  constructor(fence: string) {
    this.fence = fence;
  }

  line(line: string, at: number): void {
    if (this.fence !== "") {
      if (CLOSING.exec(line)?.[1]?.startsWith(this.fence) === true) this.fence = "";
    } else if (BLANK.test(line)) this.#paragraph = null;
    else if (ATX.test(line)) this.#begin({ at, followsHeading: this.#followsHeading });
    else if (this.#paragraph !== null && UNDERLINE.test(line)) this.#begin(this.#paragraph);
    else this.#other(line, at);
  }

  #begin({ at, followsHeading }: Paragraph): void {
    if (!followsHeading) this.starts.push(at);
    this.#followsHeading = true;
    this.#paragraph = null;
  }

  #other(line: string, at: number): void {
    this.fence = FENCE.exec(line)?.[1] ?? "";
    if (this.fence !== "" || CONTAINER.test(line)) this.#paragraph = null;
    else this.#paragraph ??= { at, followsHeading: this.#followsHeading };
    this.#followsHeading = false;
  }
}
