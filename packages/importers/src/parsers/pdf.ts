/** The text of PDF pages, a part for each. Scripts and forms are not run, fonts and images not drawn. */
import { getDocumentProxy } from "unpdf";
import type { ParsedFile } from "../file-parser.ts";
import { PARSER_LIMITS } from "../parser-limits.ts";

/** What a page says; other items mark its structure. */
interface TextItem {
  readonly str?: string;
  readonly hasEOL?: boolean;
}

export async function parsePdf(bytes: Uint8Array): Promise<ParsedFile> {
  const document = await getDocumentProxy(new Uint8Array(bytes), {
    ...{ isEvalSupported: false, enableXfa: false, disableFontFace: true, useSystemFonts: false },
    ...{ stopAtErrors: true, verbosity: 0 },
  });
  try {
    if (document.numPages > PARSER_LIMITS.pdfPages)
      throw new Error(`has ${document.numPages} pages, the limit is ${PARSER_LIMITS.pdfPages}`);
    const parts: string[] = [];
    let length = 0;
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = (await page.getTextContent()) as { readonly items: readonly TextItem[] };
      const text = items.map(({ str = "", hasEOL = false }) => (hasEOL ? `${str}\n` : str)).join("");
      page.cleanup();
      length += text.length;
      if (length > PARSER_LIMITS.textLength)
        throw new Error(`holds over ${PARSER_LIMITS.textLength} characters`);
      parts.push(text);
    }
    const { info } = await document.getMetadata();
    const { Title: title } = info as { readonly Title?: unknown };
    return { title: typeof title === "string" ? title : null, parts };
  } finally {
    await document.destroy();
  }
}
