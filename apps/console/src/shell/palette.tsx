/** The command palette: every view and collection by a few letters of its name. */
import { Combobox, createListCollection } from "@ark-ui/react/combobox";
import { useFilter } from "@ark-ui/react/locale";
import { type ReactNode, useEffect, useState } from "react";
import { mayManage } from "../collections/may-manage.ts";
import { Modal } from "../parts/modal.tsx";
import { type Place, go, setParams } from "../route/place.ts";
import { signOut } from "../session/session.ts";
import { useSession } from "../session/session-context.ts";
import { useCollections, useScope } from "../session/use-scope.ts";
import { offeredViews } from "./offered-views.ts";
import { nextTheme } from "./theme.ts";

interface Props {
  readonly open: boolean;
  readonly onClose: () => void;
}

interface Command {
  readonly label: string;
  readonly value: string;
  readonly run: () => void;
}

export function Palette({ open, onClose }: Props): ReactNode {
  return (
    <Modal title="Go to" open={open} onClose={onClose}>
      <Commands onClose={onClose} />
    </Modal>
  );
}

function Commands({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [typed, setTyped] = useState("");
  const commands = useCommands();
  const filter = useFilter({ sensitivity: "base" });
  const items = commands.filter(({ label }) => filter.contains(label, typed));
  const collection = createListCollection({ items });
  const [highlighted, setHighlighted] = useState<string | null>(null);
  useEscape(onClose);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  return (
    <Combobox.Root
      collection={collection}
      open
      autoFocus
      selectionBehavior="clear"
      inputBehavior="autohighlight"
      onInputValueChange={({ inputValue }) => setTyped(inputValue)}
      onHighlightChange={({ highlightedValue }) => setHighlighted(highlightedValue)}
      onValueChange={({ value }) => run(commands.find((command) => command.value === value[0]))}
    >
      <Combobox.Label className="hidden">View, collection or command</Combobox.Label>
      <Combobox.Control>
        <Combobox.Input
          placeholder="View, collection or command"
          onKeyDown={({ key }) => {
            // Whoever types fast is there before the first one is highlighted.
            if (key === "Enter" && !items.some((item) => item.value === highlighted)) run(items[0]);
          }}
        />
      </Combobox.Control>
      <Combobox.Content className="commands">
        {items.map((item) => (
          <Combobox.Item key={item.value} item={item}>
            <Combobox.ItemText>{item.label}</Combobox.ItemText>
          </Combobox.Item>
        ))}
        {items.length === 0 && <p className="hint">Nothing has such a name.</p>}
      </Combobox.Content>
    </Combobox.Root>
  );
}

/** The list, which stays open, would take the key for itself, wherever the focus is. */
function useEscape(onEscape: () => void): void {
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") onEscape();
    };
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  }, [onEscape]);
}

function useCommands(): readonly Command[] {
  const session = useSession();
  const scope = useScope();
  const collections = useCollections(scope).data ?? [];
  const { tenant, database } = scope;
  const to = (place: Partial<Place>) => () => go({ tenant, database, ...place });
  const views = offeredViews(session).map(({ view, label }) => ({
    ...{ label, value: `view ${view}`, run: () => go({ view }) },
  }));
  const places = collections.flatMap(({ name }) => [
    { label: `Search ${name}`, value: `search ${name}`, run: to({ view: "search", collection: name }) },
    { label: `Data of ${name}`, value: `data ${name}`, run: to({ view: "data", collection: name }) },
  ]);
  const made = (["new", "databases"] as const).flatMap((managed) => {
    const label = managed === "new" ? "Make a collection" : "Databases";
    const run = (): void => setParams({ manage: managed }, "new");
    return mayManage(session, managed) ? [{ label, value: `manage ${managed}`, run }] : [];
  });
  const rest = [{ label: "Change the theme", value: "theme", run: () => void nextTheme() }];
  const leave = session.key === null ? [] : [{ label: "Sign out", value: "sign out", run: signOut }];
  return [...views, ...places, ...made, ...rest, ...leave];
}
