/** What a parser said when it refused, as one comparable text. */
import { SheafError } from "../errors.ts";

/** `400 path: problem`; `accepted` if nothing was thrown. Anything but a `SheafError` is thrown on. */
export function refusal(run: () => unknown): string {
  try {
    run();
    return "accepted";
  } catch (error) {
    if (error instanceof SheafError) return `${error.status} ${error.message}`;
    throw error;
  }
}
