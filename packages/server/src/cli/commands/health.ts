/** `sheaf health`: one request and an exit code, for health checks of containers that have no curl. */
import { UnreachableError } from "@sheaf/client";
import { readServerAddress } from "../../config.ts";
import { SettingError } from "../../settings/setting-error.ts";
import type { Command } from "../command.ts";
import { SERVER_URL_OPTION, unreachable } from "../server-request.ts";

const READY = "/readyz";
const MOST_SECONDS = 600;

export const health: Command = {
  name: "health",
  summary: "Ask a server whether it can answer requests.",
  options: [
    SERVER_URL_OPTION,
    { flags: "--timeout-seconds <seconds>", doc: "How long to wait for its answer. [default 4]" },
  ],
  notes: "Exits with 0 if GET /readyz is answered with 200, else with 1. No key is needed.",
  async run({ url: given, timeoutSeconds = "4" }) {
    const { url } = readServerAddress({ url: given });
    const seconds = Number(timeoutSeconds);
    if (!/^\d+(?:\.\d+)?$/u.test(timeoutSeconds) || seconds === 0 || seconds > MOST_SECONDS)
      throw new SettingError(`--timeout-seconds: must be a number above 0 and up to ${MOST_SECONDS}`);
    const status = await statusOf(url, seconds * 1_000);
    console.log(status === 200 ? `${url} is ready` : `${url} is not ready: ${READY} is ${status}`);
    return status === 200 ? 0 : 1;
  },
};

/** @throws `unavailable` where no server answers in time. */
async function statusOf(url: string, timeoutMs: number): Promise<number> {
  try {
    const response = await fetch(`${url}${READY}`, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.status;
  } catch (cause) {
    throw unreachable(url, new UnreachableError(url, cause));
  }
}
