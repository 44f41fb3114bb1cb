const FIELDS = "input:not([type=hidden]), select, textarea";
const OTHERS = "button:not([aria-label=Close]), a[href], summary, pre[tabindex]";

/** What somebody begins with: the first field, else the first other control that does not close the whole. */
export function firstControl(parent: ParentNode | null): HTMLElement | null {
  const found = [FIELDS, OTHERS].flatMap((kind) => [...(parent?.querySelectorAll<HTMLElement>(kind) ?? [])]);
  return found.find((element) => !element.matches(":disabled")) ?? null;
}
