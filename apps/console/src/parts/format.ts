const NUMBER = new Intl.NumberFormat("en");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function number(value: number | null): string {
  return value === null ? "–" : NUMBER.format(value);
}

/** `1 record`, `2 records`. */
export function counted(count: number, of: string): string {
  return `${number(count)} ${of}${count === 1 ? "" : "s"}`;
}

export function bytes(value: number | null): string {
  if (value === null) return "–";
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const size = value / 1024 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${UNITS[power]}`;
}

/** `3 min ago`, with words for what is not known. */
export function ago(date: Date | null, now = Date.now()): string {
  if (date === null) return "never";
  const seconds = Math.max(0, (now - date.getTime()) / 1_000);
  if (seconds < 60) return "just now";
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return date.toISOString().slice(0, 10);
}

/** At most so many characters of a text, which may be of any length. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
