/** Segments whose files hold nothing but a name: what was sealed stays in memory, and is found there when it is opened. */
import assert from "node:assert/strict";
import { throwIfAborted } from "@sheaf/protocol";
import type { SealedSegment } from "../../../segment/sealed-segment.ts";
import { openSections } from "../../../storage/files/section-reader.ts";
import { writeSections } from "../../../storage/files/section-writer.ts";
import type { WriteSegment } from "../index-files.ts";
import type { OpenSegment } from "../restore-index.ts";

export class MemorySegments {
  readonly #segments = new Map<string, SealedSegment>();

  readonly write: WriteSegment = async (files, name, segment, { signal }) => {
    const identity = await writeSections(files, name, async (writer) => {
      await writer.stream("lists");
      await writer.write(Buffer.from(name));
      throwIfAborted(signal);
    });
    this.#segments.set(name, segment);
    return identity;
  };

  readonly open: OpenSegment = async (files, file, { signal }) => {
    const reader = await openSections(files, file, { signal });
    try {
      for await (const bytes of reader.verify({ signal })) assert(bytes > 0);
    } finally {
      await reader.close();
    }
    return this.#segments.get(file.name)!;
  };
}
