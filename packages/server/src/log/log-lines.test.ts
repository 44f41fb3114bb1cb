import * as fc from "fast-check";
import { pino } from "pino";
import { expect, it } from "vitest";
import { LogLines } from "./log-lines.ts";

it("writes every line, in order, and none later than the next warning", () => {
  const entry = fc.tuple(fc.constantFrom("debug", "info", "warn", "error"), fc.string());
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      let written = "";
      const lines = new LogLines((text) => (written += text));
      const logger = pino({ level: "debug", base: null, timestamp: false }, lines);
      const messages = (): unknown[] =>
        written
          .split("\n")
          .slice(0, -1)
          .map((line) => (JSON.parse(line) as { msg: unknown }).msg);
      for (const [index, [level, message]] of entries.entries()) {
        logger[level as "info"](message);
        if (level === "warn" || level === "error") expect(messages()).toHaveLength(index + 1);
      }
      lines.flush();
      expect(messages()).toEqual(entries.map(([, message]) => message));
    }),
  );
});

it("lets no line wait long", async () => {
  const written: string[] = [];
  const lines = new LogLines((text) => written.push(text));
  const logger = pino({}, lines);
  logger.info("first");
  logger.info("second");
  expect(written).toEqual([]);
  await expect.poll(() => written.length).toBe(1);
  expect(written[0]!.split("\n")).toHaveLength(3);
});
