/** One record: read, changed, removed, or made. */
import { type ReactNode, useState } from "react";
import { DocumentText } from "../parts/document-text.tsx";
import { type JsonObject, fieldOf, parseObject } from "../parts/json-text.ts";
import { Modal } from "../parts/modal.tsx";
import { Failure } from "../parts/states.tsx";
import { type Asked, type StoredRecord, ask } from "../session/ask-collection.ts";
import { may } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { saveRecord } from "./save-record.ts";

interface Props {
  readonly asked: Asked;
  /** `null`: a new one. */
  readonly record: StoredRecord | null;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function RecordDialog({ asked, record, onClose, onChanged }: Props): ReactNode {
  const session = useSession();
  const [editing, setEditing] = useState(record === null);
  const [isChanged, setChanged] = useState(false);
  return (
    <Modal
      title={record === null ? "A new record" : record.id}
      open
      onClose={onClose}
      isHeld={editing && isChanged}
      wide
    >
      {editing ? (
        <RecordForm
          asked={asked}
          record={record}
          onChanged={onChanged}
          onInput={() => setChanged(true)}
          onCancel={record === null ? onClose : () => setEditing(false)}
        />
      ) : (
        <>
          {record?.document != null && <DocumentText text={record.document} />}
          <h3>Metadata</h3>
          <pre>{JSON.stringify(record?.metadata ?? {}, null, 2)}</pre>
          {may(session, "write") && (
            <div className="row">
              <button type="button" onClick={() => setEditing(true)}>
                Edit
              </button>
              <DeleteButton asked={asked} id={record?.id ?? ""} onDeleted={onChanged} />
            </div>
          )}
        </>
      )}
    </Modal>
  );
}

type FormProps = Omit<Props, "onClose"> & {
  /** Something was typed. */
  readonly onInput: () => void;
  readonly onCancel: () => void;
};

function RecordForm({ asked, record, onChanged, onInput, onCancel }: FormProps): ReactNode {
  const [id, setId] = useState(record?.id ?? "");
  const [document, setDocument] = useState(record?.document ?? "");
  const [metadata, setMetadata] = useState(JSON.stringify(record?.metadata ?? {}, null, 2));
  const [failure, setFailure] = useState<unknown>(null);
  const parsed = parseObject(metadata);
  const save = (): void => {
    const next = ("value" in parsed ? parsed.value : null) ?? {};
    // Only what has changed is sent: a number that nobody touched keeps its kind, which JSON of a browser does not know.
    const change = record === null ? next : changedFields(record.metadata ?? {}, next);
    const loss = lossOf(change);
    if (loss !== null) {
      setFailure(loss);
      return;
    }
    const isSameDocument = document === (record?.document ?? "");
    setFailure(null);
    saveRecord(asked, {
      ...{ id, isNew: record === null, metadata: change },
      document: isSameDocument ? undefined : document,
    }).then(onChanged, setFailure);
  };
  return (
    <form
      onInput={onInput}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <label className="field">
        <span>Id</span>
        <input
          required
          value={id}
          disabled={record !== null}
          onChange={(event) => setId(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Document</span>
        <textarea
          autoFocus={record !== null}
          rows={8}
          value={document}
          onChange={(event) => setDocument(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Metadata</span>
        <textarea
          rows={6}
          spellCheck={false}
          value={metadata}
          onChange={(event) => setMetadata(event.target.value)}
        />
      </label>
      {"problem" in parsed && <Failure error={`Metadata: ${parsed.problem}`} />}
      {failure !== null && <Failure error={failure} />}
      <div className="row">
        <button className="primary" disabled={"problem" in parsed}>
          Save
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Numbers that JSON has been read from, and that it cannot have as they were. */
function lossOf(change: JsonObject): string | null {
  const lost = Object.entries(change).find(([, value]) =>
    [value].flat().some((item) => typeof item === "number" && isRounded(item)),
  );
  return lost === undefined ? null : `${lost[0]}: a browser would change this number; leave it to a program`;
}

function isRounded(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

/** Fields with other values, and `null` for those that are gone. */
export function changedFields(before: JsonObject, after: JsonObject): JsonObject {
  const isSame = (key: string): boolean =>
    JSON.stringify(fieldOf(before, key)) === JSON.stringify(fieldOf(after, key));
  const changed = Object.entries(after).filter(([key]) => !isSame(key));
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  return Object.fromEntries([...changed, ...gone.map((key) => [key, null] as const)]);
}

interface DeleteProps {
  readonly asked: Asked;
  readonly id: string;
  readonly onDeleted: () => void;
}

function DeleteButton({ asked, id, onDeleted }: DeleteProps): ReactNode {
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  if (failure !== null) return <Failure error={failure} />;
  if (!asking) {
    return (
      <button key="ask" type="button" className="danger" onClick={() => setAsking(true)}>
        Delete
      </button>
    );
  }
  return (
    <>
      {/* Where the first button was: a double click must not delete. */}
      <button key="keep" type="button" autoFocus onClick={() => setAsking(false)}>
        Keep it
      </button>
      <button
        key="delete"
        type="button"
        className="danger"
        onClick={() => void ask(asked, "/delete", { ids: [id] }).then(onDeleted, setFailure)}
      >
        Delete it for good
      </button>
    </>
  );
}
