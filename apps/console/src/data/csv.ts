/** CSV as RFC 4180 has it. */

/** Spreadsheets take a cell that begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/u;

/** A cell of a file that somebody may open in a spreadsheet: what would be a formula begins with an apostrophe. */
export function csvCell(value: unknown): string {
  const text =
    value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  // A number is none, whatever its sign.
  const safe = typeof value !== "number" && FORMULA.test(text) ? `'${text}` : text;
  return /["\n\r,]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** Rows of cells. A quote that is never closed holds the rest of the text. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endCell = (): void => {
    row.push(cell);
    cell = "";
  };
  const endRow = (): void => {
    endCell();
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[i + 1] === '"') cell += text[++i]!;
      else quoted = false;
    } else if (character === '"' && cell === "") quoted = true;
    else if (character === ",") endCell();
    else if (character === "\n") endRow();
    else if (character !== "\r" || text[i + 1] !== "\n") cell += character;
  }
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}
