/** Both ends of a real socket, for tests of what is sent over one. */
import { createConnection, createServer, type Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const cleanups: (() => void)[] = [];

export async function socketPair(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), "sheaf-channel-"));
  const server = createServer();
  const path = join(folder, "s");
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const near = createConnection(path);
  const far = await accepted;
  cleanups.push(() => {
    near.destroy();
    far.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return [near, far];
}

/** After each test: closes all pairs. */
export function closeSockets(): void {
  for (const cleanup of cleanups.splice(0)) cleanup();
}
