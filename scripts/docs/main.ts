/** `npm run docs`: writes the generated pages. */
import { writeFile } from "node:fs/promises";
import { referencePages } from "./reference-pages.ts";

for (const [name, text] of Object.entries(referencePages())) {
  await writeFile(new URL(`../../docs/reference/${name}`, import.meta.url), text);
  console.log(`docs/reference/${name}`);
}
