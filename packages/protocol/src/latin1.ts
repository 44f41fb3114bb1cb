/** V8 knows of most strings that they hold nothing else, and answers without looking at a character. */
const BEYOND = /[\u0100-\uffff]/;

/** Whether a byte for each UTF-16 unit is enough. */
export function isLatin1(text: string): boolean {
  return !BEYOND.test(text);
}
