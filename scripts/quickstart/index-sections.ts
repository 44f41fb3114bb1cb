/** Writes the sections of a folder into a collection, whose server embeds them. */
import { type Collection, type RecordInput, TooLargeError } from "@sheaf/client";
import { halve, type Section } from "./sections.ts";

const WRITE_BATCH = 16;

export interface SectionMetadata {
  readonly path: string;
  readonly title: string;
  readonly folder: string;
}

/** @param onProgress Told how many of the sections are written, after each batch. */
export async function indexSections(
  collection: Collection<SectionMetadata>,
  sections: readonly Section[],
  onProgress: (written: number) => void = () => {},
): Promise<void> {
  let nextId = 0;
  for (let start = 0; start < sections.length; start += WRITE_BATCH) {
    const batch = sections.slice(start, start + WRITE_BATCH);
    nextId = await addSections(collection, batch, nextId);
    onProgress(start + batch.length);
  }
}

/** The top folder of a section. */
export function folderOf({ path }: Section): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : ".";
}

/** Adds sections; where the server says that one is over the model's limit, that one is halved. */
async function addSections(
  collection: Collection<SectionMetadata>,
  batch: readonly Section[],
  nextId: number,
): Promise<number> {
  try {
    await collection.add({ records: batch.map((section, position) => recordOf(section, nextId + position)) });
    return nextId + batch.length;
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    const [only] = batch;
    const middle = Math.ceil(batch.length / 2);
    const halves =
      batch.length === 1 && only !== undefined
        ? halve(only).map((half) => [half])
        : [batch.slice(0, middle), batch.slice(middle)];
    let id = nextId;
    for (const half of halves) id = await addSections(collection, half, id);
    return id;
  }
}

function recordOf(section: Section, id: number): RecordInput<SectionMetadata> {
  const { path, title, text } = section;
  return {
    id: String(id),
    document: `${title}\n\n${text}`,
    metadata: { path, title, folder: folderOf(section) },
  };
}
