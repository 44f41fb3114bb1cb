/** `sheaf serve`: starts the server in this very process, prints where it is, and stops it on a signal. */
import { pino } from "pino";
import { type Settings, isBelowNpx, loadSettings, unknownVariables } from "../../config.ts";
import { keepYoungSpaceSmall, optimizeEarly } from "@sheaf/process";
import { replacedRootKey } from "../../auth/root-key.ts";
import { LogLines } from "../../log/log-lines.ts";
import { LogOutput } from "../../log/log-output.ts";
import { type RunningServer, startServer } from "../../server.ts";
import type { Command } from "../command.ts";
import { parentEnd } from "../parent-end.ts";
import { environmentVariables, flagTexts, settingOptions } from "../setting-options.ts";

const STDERR = 2;
const NO_AUTH =
  "Warning: auth is off. Every program on this machine can read, change and remove everything. Web pages are kept out.";
const LOST = "was removed or moved, or its disk is gone: this server ends";
const LOST_CACHE = "Started again it reads what it needs from the database";
const LOST_DATA =
  "Nothing that it kept is at this place any more. Put the folder back, or restore a backup, before it is started again: it would begin with an empty one";
/** Not that of settings which cannot be used: whoever watches over services is to start it again. */
const LOST_EXIT_CODE = 1;
const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

export const serve: Command = {
  name: "serve",
  summary: "Start the server.",
  options: settingOptions(),
  environment: environmentVariables(),
  async run(options) {
    const settings = await loadSettings(flagTexts(options));
    outliveOutput();
    const logger = pino({ level: settings.logLevel, base: null }, logLines());
    for (const variable of unknownVariables())
      logger.warn({ variable }, "the environment has a variable that is no setting and changes nothing");
    const stopped = isBelowNpx() ? Promise.race([firstSignal(), parentEnd()]) : firstSignal();
    optimizeEarly();
    keepYoungSpaceSmall();
    const server = await startServer(settings, logger);
    announce(server, settings.metricsHost);
    if (!settings.auth) console.log(NO_AUTH);
    else if (settings.rootKey !== null) await announceReplaced(settings.dataFolder, settings.rootKey);
    server.open();
    // Without TLS the signal ends the process as it always does: its terminal was closed.
    if (settings.tlsCert !== null) process.on("SIGHUP", () => server.reloadTls());
    const signal = await Promise.race([stopped, server.folderLost.then(() => null)]);
    if (signal === null) logger.error(lostFolder(settings));
    else logger.info({ signal }, "stopping");
    await server.stop();
    logger.info("stopped");
    return signal === null ? LOST_EXIT_CODE : 0;
  },
};

function lostFolder({ dataFolder, database }: Settings): string {
  return `the data folder ${dataFolder} ${LOST}. ${database === null ? LOST_DATA : LOST_CACHE}`;
}

/** What is announced is in the log or in a file too: a full disk below stdout is no reason to serve nobody. */
function outliveOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners("error").on("error", () => {});
}

function logLines(): LogLines {
  const output = LogOutput.of(STDERR, process.stderr);
  const lines = new LogLines((text) => output.write(text));
  process.on("exit", () => lines.flush());
  return lines;
}

/** Resolves at the first signal; the second ends the process at once. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let seen = false;
    for (const [signal, number] of Object.entries(SIGNALS)) {
      process.on(signal, () => {
        if (seen) process.exit(128 + number);
        seen = true;
        resolve(signal);
      });
    }
  });
}

async function announceReplaced(dataFolder: string, own: string): Promise<void> {
  const replaced = await replacedRootKey(dataFolder, own);
  if (replaced !== null)
    console.log(`The root key is that of the settings; the one in ${replaced} is not accepted`);
}

function announce({ url, metricsPort, rootKey }: RunningServer, metricsHost: string): void {
  console.log(`Sheaf listens on ${url}`);
  const host = metricsHost.includes(":") ? `[${metricsHost}]` : metricsHost;
  if (metricsPort !== null) console.log(`Metrics are at http://${host}:${metricsPort}/metrics`);
  if (rootKey === null) return;
  if (rootKey.isNew) console.log(`Root key, shown this once and kept in ${rootKey.file}:\n${rootKey.key}`);
  else console.log(`The root key is in ${rootKey.file}`);
}
