/**
 * `npm run bench:fair`: how long one tenant waits for its answers while another keeps the server busy. A bystander with
 * 20,000 records asks one thing after another; it is measured quiet, then under each kind of heavy legal work and each
 * attack of test/hostile. The goal of a row is a p99 of at most ten times the quiet one, or 100 ms where that is more.
 * The last columns are the longest turns of the event loops of gateway and engine host meanwhile, by the processor time of
 * their own threads, whatever else runs on the machine: without the garbage collections in them, and with.
 * Exit code 1 where a goal is missed or an answer was wrong.
 */
import { ServedSheaf } from "../../test/e2e/testing/served-sheaf.ts";
import { type Answered, Bystander, QUESTIONS, type Question } from "../../test/hostile/testing/bystander.ts";
import { BusyClient } from "../../test/hostile/testing/busy-client.ts";
import { ATTACKS } from "../../test/hostile/testing/attacks.ts";
import { WORKS } from "../../test/hostile/testing/heavy-work.ts";
import { type LongestTurns, SliceWatch } from "../../test/hostile/testing/slice-watch.ts";
import { createTenant } from "../../test/hostile/testing/tenant.ts";
import { quantile } from "../measure/statistics.ts";
import { textTable } from "../measure/text-table.ts";
import { readOptions } from "../measure/read-options.ts";

const BYSTANDER_RECORDS = 20_000;
const GOAL_FACTOR = 10;
const GOAL_MS = 100;
const WARM_UP_SECONDS = 5;
/** As `slice-probe.mjs`. */
const NOTED_TURN_MS = 5;

const { values } = readOptions("bench:fair -- [--seconds 15] [--only WORD,WORD…]", {
  options: {
    seconds: { type: "string", default: "15" },
    /** Only what has one of these words in its name; `quiet` always runs. */
    only: { type: "string", default: "" },
  },
});
const seconds = Number(values.seconds);
const wanted = values.only.split(",").filter((word) => word !== "");

const names = [...Object.keys(WORKS), ...Object.keys(ATTACKS)];

interface Row {
  readonly work: string;
  readonly answers: readonly Answered[];
  readonly turns: LongestTurns;
}

const slices = await SliceWatch.create();
const served = await ServedSheaf.start({ env: slices.environment });
try {
  const bystander = await Bystander.settle(served, { records: BYSTANDER_RECORDS });
  const worker = await createTenant(served, "worker");
  await bystander.during(() => pause(WARM_UP_SECONDS));
  const rows: Row[] = [await measured("quiet", () => pause(seconds))];
  for (const work of names) {
    if (wanted.length > 0 && !wanted.some((word) => work.includes(word))) continue;
    const client = await BusyClient.start(served.url, worker, work);
    try {
      const row = await measured(work, async () => {
        const { answered, refused } = await client.workFor(seconds);
        console.log(`${work}: ${answered} calls answered, ${refused} refused`);
      });
      rows.push(row);
    } finally {
      client.stop();
    }
    await pause(2);
  }
  process.exitCode = report(rows) ? 0 : 1;

  async function measured(work: string, during: () => Promise<void>): Promise<Row> {
    const since = Date.now();
    const { answers } = await bystander.during(during);
    return { work, answers, turns: await slices.longest(since) };
  }
} finally {
  await served.dispose();
  await slices.dispose();
}

function pause(length: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, length * 1_000));
}

/** Prints a line for each work; whether every goal is held and every answer was right. */
function report(rows: readonly Row[]): boolean {
  const p99 = (row: Row | undefined, question: Question): number => quantile(times(row, question), 0.99);
  const goal = (question: Question): number => Math.max(GOAL_FACTOR * p99(rows[0], question), GOAL_MS);
  const missed = (row: Row): readonly Question[] =>
    QUESTIONS.filter((question) => !(p99(row, question) <= goal(question)));
  const lines = rows.map((row) => [
    row.work,
    ...QUESTIONS.map((question) => {
      const p50 = quantile(times(row, question), 0.5);
      return `${p50.toFixed(1)} / ${p99(row, question).toFixed(1)}`;
    }),
    String(row.answers.length),
    missed(row).length === 0 ? "held" : `MISSED: ${missed(row).join(", ")}`,
    turnText(row.turns.gatewayWork, row.turns.gateway),
    turnText(row.turns.hostWork, row.turns.host),
  ]);
  const header = QUESTIONS.map((question) => `${question}, ms`);
  console.log(`\np50 / p99 of ${BYSTANDER_RECORDS} records' owner while another tenant sends:\n`);
  console.log(textTable(["work", ...header, "answers", "goal", "turn of gateway, ms", "of host, ms"], lines));
  const goals = QUESTIONS.map((question) => `${question} ${goal(question).toFixed(0)} ms`);
  console.log(`\ngoal: p99 of at most ${goals.join(", ")}`);
  const faults = rows.flatMap(({ work, answers }) =>
    answers.flatMap(({ fault }) => (fault === null ? [] : `${work}: ${fault.slice(0, 200)}`)),
  );
  for (const fault of faults.slice(0, 10)) console.log(`WRONG ${fault}`);
  if (faults.length > 0) console.log(`${faults.length} answers were wrong or refused`);
  return faults.length === 0 && rows.every((row) => missed(row).length === 0);
}

function turnText(work: number, whole: number): string {
  return whole === 0 ? `< ${NOTED_TURN_MS}` : `${work.toFixed(1)} / ${whole.toFixed(1)}`;
}

function times(row: Row | undefined, question: Question): readonly number[] {
  return (row?.answers ?? []).flatMap((answer) => (answer.question === question ? answer.milliseconds : []));
}
