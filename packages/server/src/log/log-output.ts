/**
 * Writes the log to a file descriptor without ever waiting for it: a server must outlive the disk of its log and the program
 * that reads it. What cannot be written is counted, and a line says how much is missing once there is room again.
 */
import { fstatSync, writeSync } from "node:fs";
import { isatty } from "node:tty";

const WARNING = 40;
const NEW_LINE = 10;
const MOST_WAITING_BYTES = 1_048_576;

/** The stream of a pipe, a socket or a terminal. */
interface LineStream {
  readonly writableLength: number;
  write(text: string): boolean;
}

type Take = (text: string) => boolean;

export class LogOutput {
  readonly #take: Take;
  #lost = 0;

  private constructor(take: Take) {
    this.#take = take;
  }

  /** @param stream What Node made of the descriptor, used unless it is a file; its errors have a listener already. */
  static of(descriptor: number, stream: LineStream): LogOutput {
    const found = fstatSync(descriptor);
    const mayBlock = found.isFIFO() || found.isSocket() || isatty(descriptor);
    return new LogOutput(mayBlock ? intoStream(stream) : intoFile(descriptor));
  }

  /** Whole lines. Never throws. */
  write(text: string): void {
    if (this.#take(this.#lost === 0 ? text : gap(this.#lost) + text)) this.#lost = 0;
    else this.#lost += text.split("\n").length - 1;
  }
}

function gap(lines: number): string {
  const msg = "lines of the log are missing here: they could not be written";
  return `${JSON.stringify({ level: WARNING, time: Date.now(), lines, msg })}\n`;
}

/** Node writes what does not fit into a pipe later, from a buffer that has no bound of its own. */
function intoStream(stream: LineStream): Take {
  return (text) => {
    if (stream.writableLength > MOST_WAITING_BYTES) return false;
    stream.write(text);
    return true;
  };
}

/** Not through Node's stream, which writes nothing more after its first error, and takes a part written for the whole. */
function intoFile(descriptor: number): Take {
  let endsInsideLine = false;
  return (text) => {
    const bytes = Buffer.from(endsInsideLine ? `\n${text}` : text);
    let written = 0;
    try {
      while (written < bytes.length) written += writeSync(descriptor, bytes, written);
      endsInsideLine = false;
      return true;
    } catch {
      // Most often ENOSPC. To tell it would take a log; the next line that fits tells of the gap.
      if (written > 0) endsInsideLine = bytes[written - 1] !== NEW_LINE;
      return false;
    }
  };
}
