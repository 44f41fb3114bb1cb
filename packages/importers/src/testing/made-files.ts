/** Files of the kinds that are parsed, made from what they say. */
import { strToU8, zipSync } from "fflate";

const TYPES =
  '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">' +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>';
const RELATIONS =
  '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">' +
  '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>';
const NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/** @param body XML of its body, in the namespace `w`. @param before What stands before its root. */
export function madeDocx(
  body: string,
  before = "",
  more: Readonly<Record<string, Uint8Array>> = {},
): Uint8Array {
  const document = `<?xml version="1.0"?>${before}<w:document xmlns:w="${NAMESPACE}"><w:body>${body}</w:body></w:document>`;
  return zipSync({
    "[Content_Types].xml": strToU8(TYPES),
    "_rels/.rels": strToU8(RELATIONS),
    "word/document.xml": strToU8(document),
    ...more,
  });
}

export const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

/** @param count What it says of the number of its pages. */
export function madePdf(pages: readonly string[], count = pages.length): Uint8Array {
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Count ${count}/Kids[${pages.map((_, i) => `${4 + i * 2} 0 R`).join(" ")}]>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages.flatMap((text, i) => {
      const stream = `BT /F1 12 Tf 20 100 Td (${text}) Tj ET`;
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 200]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + i * 2} 0 R>>`,
        `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
      ];
    }),
  ];
  return pdfOf(objects);
}

/** Pages that are the same one ten times, that ten times, and so on. */
export function madePdfTree(levels: number): Uint8Array {
  const nodes = Array.from({ length: levels }, (_, i) => {
    const parent = i === 0 ? "" : `/Parent ${i + 1} 0 R`;
    return `<</Type/Pages${parent}/Count ${10 ** (levels - i)}/Kids[${`${i + 3} 0 R `.repeat(10)}]>>`;
  });
  const page = `<</Type/Page/Parent ${levels + 1} 0 R/MediaBox[0 0 9 9]>>`;
  return pdfOf(["<</Type/Catalog/Pages 2 0 R>>", ...nodes, page]);
}

function pdfOf(objects: readonly string[]): Uint8Array {
  let text = "%PDF-1.4\n";
  const places = objects.map((object, i) => {
    const place = text.length;
    text += `${i + 1} 0 obj${object}endobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const table = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}`;
  text += `trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${table}\n%%EOF`;
  return Buffer.from(text, "latin1");
}
