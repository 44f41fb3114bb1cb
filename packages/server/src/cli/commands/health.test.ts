/** `sheaf health` against servers that are ready, are not, are silent, or are not there. */
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { useCli } from "../../testing/cli-test.ts";
import { main } from "../main.ts";

const cli = useCli();
const { out, errors } = cli;
let other: Server | null = null;

afterEach(() => {
  other?.close();
  other?.closeAllConnections();
  other = null;
});

/** Something that speaks HTTP; without a status, something that takes requests and says nothing. */
async function serve(status: number | null): Promise<string> {
  other = createServer((_request, response) => void (status === null ? 0 : response.writeHead(status).end()));
  await once(other.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
}

describe("sheaf health", () => {
  it("is 0 where the server is ready, without a key", async () => {
    expect(await main(["health", "--url", cli.url])).toBe(0);
    expect(out).toEqual([`${cli.url} is ready`]);
  });

  it("is 1 where it is not", async () => {
    const url = await serve(503);
    expect(await main(["health", "--url", url])).toBe(1);
    expect(out).toEqual([`${url} is not ready: /readyz is 503`]);
  });

  it("is 1 where nothing answers in time, or nothing listens", async () => {
    const url = await serve(null);
    expect(await main(["health", "--url", url, "--timeout-seconds", "0.2"])).toBe(1);
    const { port } = new URL(url);
    const open = connect(Number(port), "127.0.0.1");
    await once(open, "connect");
    other?.close();
    other?.closeAllConnections();
    open.destroy();
    expect(await main(["health", "--url", url])).toBe(1);
    expect(errors).toEqual(Array(2).fill(`sheaf: no server answers at ${url}; name another with --url`));
  });

  it.each(["0", "-1", "x", "601", ""])("refuses a timeout of %j", async (timeout) => {
    expect(await main(["health", "--url", cli.url, `--timeout-seconds=${timeout}`])).toBe(2);
    expect(errors.join("\n")).toContain("sheaf: --timeout-seconds: must be a number above 0 and up to 600");
  });
});
