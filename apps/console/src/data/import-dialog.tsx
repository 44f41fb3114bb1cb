/** Brings files in: they are read here, and cut and embedded by the server. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { number } from "../parts/format.ts";
import { Modal } from "../parts/modal.tsx";
import { Failure } from "../parts/states.tsx";
import type { Asked } from "../session/ask-collection.ts";
import { FileReport, RefusedList } from "./import-report.tsx";
import type { ReadFile } from "./read-files.ts";
import type { Written } from "./write-files.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const NOTHING_WRITTEN: Written = { stored: 0, refused: { shown: [], count: 0 } };

interface Props {
  readonly asked: Asked;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onImported: () => void;
}

interface Progress {
  readonly written: Written;
  /** `null`: it goes on. */
  readonly ended: "done" | { readonly failure: unknown } | null;
}

export function ImportDialog({ asked, open, onClose, onImported }: Props): ReactNode {
  return (
    <Modal title="Import files" open={open} onClose={onClose}>
      <Import asked={asked} onImported={onImported} />
    </Modal>
  );
}

function Import({ asked, onImported }: Pick<Props, "asked" | "onImported">): ReactNode {
  const [files, setFiles] = useState<readonly ReadFile[]>([]);
  const [progress, setProgress] = useState<Progress | null>(null);
  const running = useRef<AbortController>(null);
  // Whoever closes the dialog ends what it does.
  useEffect(() => () => running.current?.abort(), []);
  const total = files.reduce((sum, { records }) => sum + records.length, 0);
  const take = async (list: Iterable<File>): Promise<void> => {
    running.current?.abort();
    running.current = null;
    setFiles(await readFiles([...list]));
    setProgress(null);
  };
  const write = async (): Promise<void> => {
    const end = new AbortController();
    running.current = end;
    let written = progress?.written ?? NOTHING_WRITTEN;
    const tell = (ended: Progress["ended"]): void => {
      // Other files may have been chosen since.
      if (running.current === end) setProgress({ written, ended });
    };
    const onProgress = (now: Written): void => {
      written = now;
      tell(null);
    };
    tell(null);
    try {
      const { writeFiles } = await import("./write-files.ts");
      await writeFiles(asked, files, { signal: end.signal, before: written, onProgress });
      tell("done");
    } catch (failure) {
      tell({ failure: end.signal.aborted ? "Stopped. What was stored until then stays." : failure });
    }
    onImported();
  };
  const isRunning = progress?.ended === null;
  const done = progress === null ? 0 : progress.written.stored + progress.written.refused.count;
  return (
    <>
      <Drop onFiles={(list) => void take(list)} />
      {files.map((file, i) => (
        <FileReport key={`${i} ${file.name}`} file={file} />
      ))}
      {progress !== null && <ProgressReport progress={progress} total={total} />}
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={done >= total || isRunning}
          onClick={() => void write()}
        >
          {done === 0 ? "Import" : "Go on with"} {number(total - done)}{" "}
          {total - done === 1 ? "record" : "records"}
        </button>
        {isRunning && (
          <button type="button" onClick={() => running.current?.abort()}>
            Stop
          </button>
        )}
      </div>
    </>
  );
}

function ProgressReport({
  progress: { written, ended },
  total,
}: {
  readonly progress: Progress;
  readonly total: number;
}): ReactNode {
  const { stored, refused } = written;
  return (
    <>
      {typeof ended === "object" && ended !== null && <Failure error={ended.failure} />}
      <p role="status">
        <progress aria-label="Records written" max={total} value={stored + refused.count} />
        {number(stored)} of {number(total)} records are stored
        {refused.count > 0 && `, ${number(refused.count)} refused`}.
      </p>
      <RefusedList refused={refused} />
    </>
  );
}

async function readFiles(list: readonly File[]): Promise<readonly ReadFile[]> {
  const { readFile, unreadable, withoutRepeats } = await import("./read-files.ts");
  const read = async (file: File): Promise<ReadFile> => {
    if (file.size > MOST_BYTES) return unreadable(file.name, "is longer than 64 MiB");
    try {
      return readFile(file.name, await file.arrayBuffer());
    } catch (error) {
      return unreadable(file.name, error instanceof Error ? error.message : String(error));
    }
  };
  return withoutRepeats(await Promise.all(list.map(read)));
}

function Drop({ onFiles }: { readonly onFiles: (files: Iterable<File>) => void }): ReactNode {
  const [over, setOver] = useState(false);
  return (
    <div
      className={over ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles(event.dataTransfer.files);
      }}
    >
      <p>Drop JSON lines, CSV, Markdown or text here, or choose files.</p>
      <input
        type="file"
        multiple
        aria-label="Files"
        accept=".jsonl,.ndjson,.json,.csv,.md,.txt,text/*"
        onChange={(event) => onFiles([...(event.target.files ?? [])])}
      />
    </div>
  );
}
