/** A broken promise of the server, with what the log says and what the server says. It ends the run. */
export class Violation extends Error {
  constructor(what: string, details: readonly string[] = []) {
    super([what, ...details.map((detail) => `  ${detail}`)].join("\n"));
    this.name = "Violation";
  }
}
