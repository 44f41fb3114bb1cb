/** The items of a setting that lists some, separated by commas. */
export function parseList(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
