import { Dialog } from "@ark-ui/react/dialog";
import { Portal } from "@ark-ui/react/portal";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { firstControl } from "./first-control.ts";

interface Props {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly wide?: boolean;
  /** There is something in it that is nowhere else: only its own buttons close it. */
  readonly isHeld?: boolean;
  readonly children: ReactNode;
}

export function Modal({ title, open, onClose, wide = false, isHeld = false, children }: Props): ReactNode {
  const content = useRef<HTMLDivElement>(null);
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(change) => !change.open && onClose()}
      initialFocusEl={() => firstControl(content.current)}
      closeOnEscape={!isHeld}
      closeOnInteractOutside={!isHeld}
      lazyMount
      unmountOnExit
    >
      {open && <FocusReturn />}
      <Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Positioner className="positioner">
          <Dialog.Content ref={content} className={wide ? "modal wide" : "modal"}>
            <header>
              <Dialog.Title>{title}</Dialog.Title>
              <Dialog.CloseTrigger aria-label="Close" className="plain">
                ✕
              </Dialog.CloseTrigger>
            </header>
            {children}
          </Dialog.Content>
        </Dialog.Positioner>
      </Portal>
    </Dialog.Root>
  );
}

/** Gives the focus back to what had it before, or to the view if that is gone, also where the dialog goes away all at once. */
function FocusReturn(): ReactNode {
  const [before] = useState(() => document.activeElement);
  useEffect(() => {
    let isMounted = true;
    return () => {
      isMounted = false;
      // The dialog itself may give it back, too.
      setTimeout(() => {
        if (isMounted || document.activeElement !== document.body) return;
        const hasPlace = before instanceof HTMLElement && before.isConnected && before !== document.body;
        (hasPlace ? before : document.getElementById("main"))?.focus();
      });
    };
  }, [before]);
  return null;
}
