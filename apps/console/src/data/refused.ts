/** What could not be read or stored: the first ones with their place and reason, and how many there are. */

export interface Refused {
  readonly shown: readonly string[];
  readonly count: number;
}

const MOST_SHOWN = 20;

export const NONE_REFUSED: Refused = { shown: [], count: 0 };

export function refuse({ shown, count }: Refused, problem: string): Refused {
  return { shown: count < MOST_SHOWN ? [...shown, problem] : shown, count: count + 1 };
}
