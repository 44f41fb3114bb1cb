/** `sheaf models rm`: removes a fetched model from the cache and leaves what other programs have in it. */
import type { Command } from "../command.ts";
import { HUB_ENVIRONMENT, JSON_OPTION, mebibytes, openModelStore, printJson } from "./models.ts";

export const modelsRm: Command = {
  name: "models rm",
  summary: "Remove a downloaded model from the cache.",
  operands: ["identifier"],
  options: [JSON_OPTION],
  environment: HUB_ENVIRONMENT,
  async run(options, [identifier = ""]) {
    const removed = await (await openModelStore(options)).remove(identifier);
    const freedBytes = removed?.freedBytes ?? 0;
    if (options["json"] !== undefined) printJson({ identifier, removed: removed !== null, freedBytes });
    else if (removed === null) console.log(`${identifier} is not in the cache`);
    else console.log(`removed ${identifier} at ${removed.commit}, ${mebibytes(freedBytes)}`);
    return 0;
  },
};
