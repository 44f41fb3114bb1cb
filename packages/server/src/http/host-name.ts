/** The host of a `Host` header or of a URL's authority, as it is compared. */

const HOST = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::\d{1,5})?$/;

/** Lower case, without brackets, port and the dot at the end; `null` for what is none. */
export function hostName(text: string): string | null {
  const [, address, name] = HOST.exec(text.toLowerCase()) ?? [];
  return address ?? name?.replace(/\.$/, "") ?? null;
}

/** How many `Host` headers a request has. Node keeps the first and drops the others. */
export function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}
