/** Brings files in: they are read here, cut to what the model takes, and embedded by the server. */
import { type ReactNode, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { number } from "../parts/format.ts";
import { Modal } from "../parts/modal.tsx";
import { Failure } from "../parts/states.tsx";
import type { Asked } from "../session/ask-collection.ts";
import { modelOf } from "../overview/model-name.tsx";
import { type NewRecord, type ReadFile, readFile } from "./read-files.ts";

const DEFAULT_TOKENS = 256;
const MOST_BYTES = 64 * 1024 * 1024;
const BATCH = 100;

interface Props {
  readonly asked: Asked;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onImported: () => void;
}

type Progress = { readonly written: number; readonly total: number } | { readonly failure: unknown } | null;

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
  const maxTokens = useMaxTokens(asked);
  const records = files.flatMap((file) => file.records);
  const take = async (list: Iterable<File>): Promise<void> => {
    const read: ReadFile[] = [];
    for (const file of list) {
      if (file.size > MOST_BYTES)
        read.push({ name: file.name, records: [], problems: ["is longer than 64 MiB"] });
      else read.push(readFile(file.name, await file.text(), maxTokens));
    }
    setFiles(read);
    setProgress(null);
  };
  const write = (): void => {
    const rows = records.map(({ id, document, metadata }) => ({ id, document, metadata: metadata as never }));
    setProgress({ written: 0, total: records.length });
    asked.collection
      .upsert({ records: rows, batchSize: BATCH, onProgress: (made) => setProgress(made) })
      .then(
        () => setProgress({ written: records.length, total: records.length }),
        (failure: unknown) => setProgress({ failure }),
      )
      .finally(onImported);
  };
  return (
    <>
      <Drop onFiles={(list) => void take(list)} />
      {files.map((file) => (
        <Report key={file.name} file={file} />
      ))}
      {progress !== null && "failure" in progress && <Failure error={progress.failure} />}
      {progress !== null && "written" in progress && (
        <p role="status">
          <progress aria-label="Records written" max={progress.total} value={progress.written} />
          {number(progress.written)} of {number(progress.total)} records are stored.
        </p>
      )}
      <button
        type="button"
        className="primary"
        disabled={records.length === 0 || progress !== null}
        onClick={write}
      >
        Import {number(records.length)} records
      </button>
    </>
  );
}

function useMaxTokens({ client, collection }: Asked): number {
  const models = useQuery({
    queryKey: ["models"],
    retry: false,
    queryFn: ({ signal }) => client.listModels({ signal }),
  });
  return (
    models.data?.find(({ identifier }) => identifier === modelOf(collection))?.maxTokens ?? DEFAULT_TOKENS
  );
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

function Report({ file: { name, records, problems } }: { readonly file: ReadFile }): ReactNode {
  const first: NewRecord | undefined = records[0];
  return (
    <section>
      <h3>
        {name}: {number(records.length)} records
      </h3>
      {first !== undefined && <p className="hint">The first one is {first.id}.</p>}
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
