/** How the clients of npm `chromadb` are pointed at a served Sheaf; the clients themselves stay as they are shipped. */
import { AdminClient, ChromaClient, type ChromaClientArgs } from "chromadb";
import { ROOT_KEY, type ServedSheaf } from "../../e2e/testing/served-sheaf.ts";

export function chromaClient(served: ServedSheaf, more: Partial<ChromaClientArgs> = {}): ChromaClient {
  return new ChromaClient({ ...address(served), headers: { "x-chroma-token": ROOT_KEY }, ...more });
}

export function adminClient(served: ServedSheaf): AdminClient {
  return new AdminClient({ ...address(served), headers: { "x-chroma-token": ROOT_KEY } });
}

export function address(served: ServedSheaf): { host: string; port: number; ssl: false } {
  const { hostname, port } = new URL(served.url);
  return { host: hostname, port: Number(port), ssl: false };
}
