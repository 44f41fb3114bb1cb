/** The record that the address names. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Modal } from "../parts/modal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { setParams } from "../route/place.ts";
import { type Asked, getRecords } from "../session/ask-collection.ts";
import { RecordDialog } from "./record-dialog.tsx";

interface Props {
  readonly asked: Asked;
  readonly id: string;
  readonly onChanged: () => void;
}

export function OpenRecord({ asked, id, onChanged }: Props): ReactNode {
  const record = useQuery({
    queryKey: ["record", asked.collection.id, id],
    // Whoever edits it goes on with what they have begun with.
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const [found] = await getRecords(asked, { where: { "#id": id }, limit: 1, offset: 0 }, signal);
      return found ?? null;
    },
  });
  const close = (): void => setParams({ record: "" }, "new");
  const changed = (): void => {
    close();
    onChanged();
  };
  if (record.data != null)
    return <RecordDialog asked={asked} record={record.data} onClose={close} onChanged={changed} />;
  return (
    <Modal title={id} open onClose={close}>
      {record.isPending && <Loading what="the record" />}
      {record.isError && <Failure error={record.error} retry={() => void record.refetch()} />}
      {record.data === null && <Empty>The collection has no record of this id, or has it no more.</Empty>}
    </Modal>
  );
}
