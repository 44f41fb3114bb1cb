/**
 * The browser gives the focus to the page when the focused element goes away or is disabled, and whoever works by keyboard starts
 * again at the top. The focus goes to what is near instead: a control of the same form or row, its dialog, or the view.
 */
import { firstControl } from "../parts/first-control.ts";

const NEAR = "form, fieldset, .row, [role=dialog], [tabindex]";

/** Returns what ends it. */
export function keepFocus(): () => void {
  /** The element that has the focus, and what it is in. */
  let path: readonly Element[] = [];
  const onFocus = ({ target }: FocusEvent): void => {
    path = target instanceof Element ? pathOf(target) : [];
  };
  const onBlur = ({ target }: FocusEvent): void => {
    setTimeout(() => {
      const wasLeft = target === path[0] && isUsable(path[0]) && document.activeElement === document.body;
      if (wasLeft) path = [];
    });
  };
  const look = (): void => {
    const { activeElement: active, body } = document;
    const [lost] = path;
    const isLost = active === null || active === body || active.matches(":disabled");
    if (!isLost || lost === undefined || isUsable(lost)) return;
    // A dialog that is gone gives it back itself.
    if (path.some((element) => element.matches("[role=dialog]") && !element.isConnected)) return;
    const next = nearest(path.slice(1)) ?? document.getElementById("main");
    path = [];
    next?.focus();
  };
  const watch = new MutationObserver(look);
  watch.observe(document.body, {
    ...{ childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] },
  });
  document.addEventListener("focusin", onFocus);
  document.addEventListener("focusout", onBlur);
  return () => {
    watch.disconnect();
    document.removeEventListener("focusin", onFocus);
    document.removeEventListener("focusout", onBlur);
  };
}

function pathOf(element: Element): readonly Element[] {
  const path = [element];
  for (let { parentElement: up } = element; up !== null; up = up.parentElement) path.push(up);
  return path;
}

function isUsable(element: Element | undefined): boolean {
  return element !== undefined && element.isConnected && !element.matches(":disabled");
}

function nearest(ancestors: readonly Element[]): HTMLElement | null {
  for (const element of ancestors) {
    if (!element.isConnected || !(element instanceof HTMLElement) || !element.matches(NEAR)) continue;
    const isPlace = element.matches("[tabindex]:not([role=dialog])");
    const found = isPlace ? element : firstControl(element);
    if (found !== null) return found;
  }
  return null;
}
