/** What a command of `sheaf` is: its words, its options, and what it does. */

export interface CommandOption {
  /** As commander reads it: `--port <number>`; without an operand it is on or off. */
  readonly flags: string;
  readonly doc: string;
  /** Heading in `--help`, where a command has many. */
  readonly group?: string;
}

/** A setting that only the environment can give. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly doc: string;
}

/** By long name in camel case. */
export type OptionTexts = Readonly<Record<string, string | undefined>>;

export interface Command {
  /** One word, or a group and one: `keys create`. */
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CommandOption[];
  /** What stands after the name. It has to be there, unless it is in brackets: `[identifier]`. */
  readonly operands?: readonly string[];
  readonly environment?: readonly EnvironmentVariable[];
  /** Sentences at the end of `--help`. */
  readonly notes?: string;
  /** `given`: one text per operand that is there. Resolves with the exit code: 0, done; 1, it failed; others as its notes say. */
  run(options: OptionTexts, given: readonly string[]): Promise<number>;
}
