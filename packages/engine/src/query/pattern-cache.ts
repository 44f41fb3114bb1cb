/**
 * The compiled regular expressions of one request. Patterns are those of Rust's `regex`, run by that engine itself
 * (WASM): time linear in the document and a cap of 10 MiB on what a pattern compiles to. The engine's memory is not
 * garbage collected, so whoever makes a cache frees it.
 */
import { LIMITS, invalid } from "@sheaf/protocol";
import { type Regex, compileRegex } from "./regex-module.ts";

export class PatternCache {
  readonly #patterns = new Map<string, Regex>();

  /** Throws 400 with the engine's message and `path`. */
  compile(pattern: string, path: string): Regex {
    const known = this.#patterns.get(pattern);
    if (known !== undefined) return known;
    if (this.#patterns.size >= LIMITS.regexPatterns) {
      throw invalid(path, `a request takes at most ${LIMITS.regexPatterns} regular expressions`);
    }
    const compiled = compile(pattern, path);
    this.#patterns.set(pattern, compiled);
    return compiled;
  }

  free(): void {
    for (const compiled of this.#patterns.values()) compiled.free();
    this.#patterns.clear();
  }
}

function compile(pattern: string, path: string): Regex {
  try {
    return compileRegex(pattern);
  } catch (error) {
    throw invalid(path, error instanceof Error ? error.message : String(error));
  }
}
