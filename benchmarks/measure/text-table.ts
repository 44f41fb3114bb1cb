/** Tables as Markdown, so that what a benchmark prints can be pasted into its documentation page. */

/** The first column is left-aligned, the others, which hold numbers, right-aligned. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length), 3));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => align(row[column] ?? "", width, column)).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}

function align(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
