import { describe, expect, it } from "vitest";
import { HangWatch, UNRESPONSIVE_LOOKS, type Watched } from "./hang-watch.ts";

const HANG_LOOKS = 10;

/** What it says at each of so many looks at something that answers a ping where `answers` says so. */
function looks(count: number, answers: (ping: number) => boolean): readonly boolean[] {
  let pings = 0;
  const watch = watchOver(() => answers(++pings));
  return Array.from({ length: count }, () => watch.look());
}

function watchOver(answers: () => boolean): HangWatch {
  const watched: Watched & { heard: number } = {
    heard: 0,
    ping: () => {
      if (answers()) watched.heard++;
    },
  };
  return new HangWatch(watched, HANG_LOOKS);
}

describe("a watch for hangs", () => {
  it("finds what is silent at so many looks, not at fewer", () => {
    expect(looks(HANG_LOOKS, () => false)).toEqual([...Array(HANG_LOOKS - 1).fill(false), true]);
  });

  it("leaves alone what answers, however late", () => {
    expect(looks(10 * HANG_LOOKS, () => true)).not.toContain(true);
    expect(looks(10 * HANG_LOOKS, (ping) => ping % HANG_LOOKS === 0)).not.toContain(true);
  });

  it("finds what was well for a while", () => {
    const wellFor = 5 * HANG_LOOKS;
    expect(looks(10 * HANG_LOOKS, (ping) => ping < wellFor).indexOf(true)).toBe(wellFor + HANG_LOOKS - 2);
  });

  it("calls unresponsive what was silent for a few looks, until it answers", () => {
    let answers = false;
    const watch = watchOver(() => answers);
    const seen = Array.from({ length: UNRESPONSIVE_LOOKS }, () => [watch.look(), watch.responsive][1]);
    expect(seen).toEqual([...Array(UNRESPONSIVE_LOOKS - 1).fill(true), false]);
    answers = true;
    watch.look();
    watch.look();
    expect(watch.responsive).toBe(true);
  });
});
