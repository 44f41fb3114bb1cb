/** What an object store has answered, in memory. */

/** Of a range, of a list, of an error; nothing that is asked for has more. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Throws for more than can have been asked for, whether the store says its length or does not. */
export async function bodyOf(response: Response, method: string): Promise<Buffer> {
  if (method === "HEAD" || response.body === null) return Buffer.alloc(0);
  if (Number(response.headers.get("content-length")) > MAX_ANSWER_BYTES) {
    await response.body.cancel();
    throw tooMuch();
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Whoever leaves the loop ends the answer.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw tooMuch();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function tooMuch(): Error {
  return new Error("the object store answers with more than was asked for");
}
