/** A file of the index is not what was written. Names file and section, so that it can be set aside and made anew. */
import { SheafError } from "@sheaf/protocol";

export class SegmentDamaged extends SheafError {
  readonly file: string;
  /** `null`: the file itself, or what holds its sections together. */
  readonly section: string | null;

  constructor(file: string, section: string | null, reason: string, cause?: unknown) {
    const place = section === null ? file : `${file}, section ${section}`;
    super("collection_unavailable", `index file is damaged: ${place}: ${reason}`, { cause });
    this.name = "SegmentDamaged";
    this.file = file;
    this.section = section;
  }
}

/** There is no file of this name: one that was removed, or set aside before. */
export class SegmentMissing extends SegmentDamaged {
  constructor(file: string) {
    super(file, null, "it is missing");
  }
}

/** There is one elsewhere, for which this disk has no room. */
export class SegmentWithoutRoom extends SegmentMissing {
  constructor(file: string) {
    super(file);
    this.message = `index file ${file} could not be fetched: the disk of the data folder is full`;
  }
}
