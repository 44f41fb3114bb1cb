/**
 * `npm run models:real`: runs the published models whose weights are on this machine and compares them with what is
 * known of them. Fetches nothing; a model that is not here is named with the command that fetches it. Ends with 1 where
 * a model is wrong.
 */
import { parseArgs } from "node:util";
import { embedderOptions, readSettings } from "@sheaf/server";
import { checkModel } from "./check-model.ts";
import { KNOWN_MODELS } from "./known-models.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { models: { type: "string" }, data: { type: "string" } },
});
const options = await embedderOptions(readSettings({ modelsFile: flags.models, dataFolder: flags.data }));

const unknown = positionals.filter((name) => !KNOWN_MODELS.some(({ identifier }) => identifier === name));
if (unknown.length > 0) {
  console.error(
    `${unknown.join(", ")}: none of ${KNOWN_MODELS.map(({ identifier }) => identifier).join(", ")}`,
  );
  process.exit(2);
}

const count = { right: 0, wrong: 0, "not run": 0 };
for (const model of KNOWN_MODELS) {
  const { identifier } = model;
  if (positionals.length > 0 && !positionals.includes(identifier)) continue;
  const verdict = await checkModel(model, options);
  if (verdict.kind === "absent") {
    count["not run"]++;
    console.log(`${identifier}: not run: weights absent (sheaf models pull ${identifier})`);
    continue;
  }
  const right = verdict.findings.every((finding) => finding.right);
  count[right ? "right" : "wrong"]++;
  console.log(`${identifier}: ${right ? "ok" : "WRONG"}, revision ${verdict.revision}`);
  for (const finding of verdict.findings)
    console.log(`  ${finding.right ? "ok   " : "WRONG"} ${finding.seen}`);
}
console.log(
  Object.entries(count)
    .map(([what, models]) => `${models} ${what}`)
    .join(", "),
);
process.exitCode = count.wrong === 0 ? 0 : 1;
