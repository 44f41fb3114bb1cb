/** `npm run quickstart [-- [--keep] FOLDER "question"]`: install, build, then the tour in quickstart/main.ts. */
import { existsSync } from "node:fs";
import { callersPath, runWithServer } from "./install.mjs";

const USAGE = 'npm run quickstart -- [--keep] FOLDER "question"';
const WRONG_USAGE = 2;

/** Before minutes are spent on packages. */
function refuse(problem) {
  console.error(`quickstart: ${problem}`);
  process.exit(WRONG_USAGE);
}

const given = process.argv.slice(2);
const keeps = given.includes("--keep");
const [place, question, ...more] = given.filter((argument) => argument !== "--keep");
if (place === "--help" || place === "-h") {
  console.log(
    `${USAGE}\n\nIndexes the text and Markdown of a folder, or one file, and asks it the question in five ways.\n--keep leaves the server up until it is interrupted.`,
  );
  process.exit();
}
if (more.length > 0) refuse(`put the question into quotes: ${USAGE}`);
if (question?.trim() === "") refuse(`the question is empty: ${USAGE}`);
const path = place === undefined ? null : callersPath(place);
if (path !== null && !existsSync(path)) refuse(`${path}: no such folder or file`);
const asked = path === null ? [] : question === undefined ? [path] : [path, question];

runWithServer("scripts/quickstart/main.ts", [...(keeps ? ["--keep"] : []), ...asked]);
