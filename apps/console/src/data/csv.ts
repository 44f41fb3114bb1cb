/** Cells and lines of CSV files, as RFC 4180 has them. */

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
