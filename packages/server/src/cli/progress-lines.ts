/** Lines of progress on stderr, one every five seconds at most. */
const EVERY_MS = 5_000;

export function progressLines(): (line: () => string) => void {
  let told = performance.now();
  return (line) => {
    if (performance.now() - told < EVERY_MS) return;
    told = performance.now();
    console.error(line());
  };
}
