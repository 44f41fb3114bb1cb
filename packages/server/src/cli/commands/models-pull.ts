/** `sheaf models pull`: fetches the weights of a model, with a bar where a person watches. */
import type { PullProgress } from "@sheaf/inference";
import { Presets, SingleBar } from "cli-progress";
import type { Command } from "../command.ts";
import { HUB_ENVIRONMENT, JSON_OPTION, mebibytes, openModelStore, printJson } from "./models.ts";

const MEBIBYTE = 2 ** 20;

export const modelsPull: Command = {
  name: "models pull",
  summary: "Download the weights of a model. Resumes an interrupted download.",
  operands: ["identifier"],
  options: [JSON_OPTION],
  environment: HUB_ENVIRONMENT,
  async run(options, [identifier = ""]) {
    const store = await openModelStore(options);
    const json = options["json"] !== undefined;
    if (store.state(identifier).source === "bundled")
      console.error(
        `${identifier} comes with Sheaf, which uses that copy; to use a download, name it in --models`,
      );
    const display = json ? null : startDisplay();
    const pulled = await store
      .pull(identifier, display === null ? {} : { onProgress: display.show })
      .finally(() => display?.end());
    const { path, commit, totalBytes } = pulled;
    if (json) printJson({ identifier, revision: commit, path, totalBytes });
    else console.log(`${identifier} is here: ${mebibytes(totalBytes)} at ${commit}\n${path}`);
    return 0;
  },
};

interface Display {
  readonly show: (progress: PullProgress) => void;
  readonly end: () => void;
}

/** A bar on a terminal; elsewhere one line per file, because a log cannot be drawn over. */
function startDisplay(): Display {
  if (!process.stderr.isTTY) {
    let last = "";
    const show = ({ file, totalBytes }: PullProgress): void => {
      if (file !== last) console.error(`fetching ${file} (${mebibytes(totalBytes)} in all)`);
      last = file;
    };
    return { show, end: () => {} };
  }
  const format = "{bar} {percentage} % of {total} MiB, {eta_formatted} left  {file}";
  const bar = new SingleBar({ format, stream: process.stderr, etaBuffer: 100 }, Presets.shades_classic);
  bar.start(0, 0, { file: "" });
  return {
    show: ({ file, receivedBytes, totalBytes }) => {
      bar.setTotal(Math.ceil(totalBytes / MEBIBYTE));
      bar.update(Math.floor(receivedBytes / MEBIBYTE), { file });
    },
    end: () => bar.stop(),
  };
}
