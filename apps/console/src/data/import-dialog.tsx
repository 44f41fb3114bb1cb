/** Brings files in: they are read here, and cut and embedded by the server. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { number } from "../parts/format.ts";
import { Modal } from "../parts/modal.tsx";
import { Failure } from "../parts/states.tsx";
import type { Asked } from "../session/ask-collection.ts";
import type { NewRecord, ReadFile } from "./read-files.ts";
import { writeFiles } from "./write-files.ts";

const MOST_BYTES = 64 * 1024 * 1024;

interface Props {
  readonly asked: Asked;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onImported: () => void;
}

type Progress =
  | { readonly written: number; readonly total: number; readonly end: AbortController | null }
  | { readonly failure: unknown }
  | null;

export function ImportDialog({ asked, open, onClose, onImported }: Props): ReactNode {
  return (
    <Modal title="Import files" open={open} onClose={onClose}>
      <Import asked={asked} onImported={onImported} />
    </Modal>
  );
}

function Import({ asked, onImported }: Pick<Props, "asked" | "onImported">): ReactNode {
  const [files, setFiles] = useState<readonly ReadFile[]>([]);
  const [progress, setProgress] = useState<Progress>(null);
  const running = useRef<AbortController>(null);
  // Whoever closes the dialog ends what it does.
  useEffect(() => () => running.current?.abort(), []);
  const total = files.reduce((sum, { records }) => sum + records.length, 0);
  const take = async (list: Iterable<File>): Promise<void> => {
    setFiles(await Promise.all([...list].map(readOne)));
    setProgress(null);
  };
  const write = async (): Promise<void> => {
    const end = new AbortController();
    running.current = end;
    setProgress({ written: 0, total, end });
    try {
      await writeFiles(asked, files, end.signal, (made) => setProgress({ ...made, end }));
      setProgress({ written: total, total, end: null });
    } catch (failure) {
      setProgress({ failure: end.signal.aborted ? "Stopped. What was stored until then stays." : failure });
    }
    onImported();
  };
  const isRunning = progress !== null && "written" in progress && progress.end !== null;
  const isDone = progress !== null && "written" in progress && progress.end === null;
  return (
    <>
      <Drop onFiles={(list) => void take(list)} />
      {files.map((file, i) => (
        <Report key={`${i} ${file.name}`} file={file} />
      ))}
      {progress !== null && "failure" in progress && <Failure error={progress.failure} />}
      {progress !== null && "written" in progress && (
        <p role="status">
          <progress aria-label="Records written" max={progress.total} value={progress.written} />
          {number(progress.written)} of {number(progress.total)} records are stored.
        </p>
      )}
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={total === 0 || isRunning || isDone}
          onClick={() => void write()}
        >
          Import {number(total)} records
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

async function readOne(file: File): Promise<ReadFile> {
  const failed = (problem: string): ReadFile => ({
    ...{ name: file.name, records: [], problems: [problem], chunking: null },
  });
  if (file.size > MOST_BYTES) return failed("is longer than 64 MiB");
  try {
    const [bytes, { readFile }] = await Promise.all([file.arrayBuffer(), import("./read-files.ts")]);
    return readFile(file.name, bytes);
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
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

function Report({ file: { name, records, problems, chunking } }: { readonly file: ReadFile }): ReactNode {
  const first: NewRecord | undefined = records[0];
  return (
    <section>
      <h3>
        {name}: {number(records.length)} records
      </h3>
      {first !== undefined && chunking === null && <p className="hint">The first one is {first.id}.</p>}
      {chunking !== null && (
        <p className="hint">The server cuts it by {chunking.by} into what its model takes.</p>
      )}
      {problems.length > 0 && (
        <div className="problems" role="alert">
          <ul>
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
