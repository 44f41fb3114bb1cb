/** What a person sees who opens the address of the server in a browser. Paths are relative, so that it works behind a prefix. */

export const FRONT_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Sheaf</title>
    <link rel="icon" href="data:," />
    <style>
      body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
    </style>
  </head>
  <body>
    <h1>Sheaf</h1>
    <p>This is a Sheaf server: text embedding and hybrid search over HTTP. Programs speak to it; there is nothing else to see here.</p>
    <ul>
      <li><a href="docs">API documentation</a></li>
      <li><a href="openapi.json">Its description</a>, and <a href="embed/openapi.json">that of the embedding endpoints</a>, as OpenAPI</li>
      <li><a href="readyz">Readiness</a></li>
    </ul>
  </body>
</html>
`;

/** Whether an `Accept` header asks for HTML by name, as browsers do and programs do not. */
export function asksForHtml(accept: string | null): boolean {
  return (
    accept !== null &&
    /(?:^|,)\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i.test(accept)
  );
}
