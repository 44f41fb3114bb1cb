/** Dark or light: as the system says, until its user says something else. */
const STORED = "sheaf.theme";

export type Theme = "system" | "light" | "dark";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  document.documentElement.dataset["theme"] = theme;
}

export function nextTheme(): Theme {
  const order: readonly Theme[] = ["system", "light", "dark"];
  const next = order[(order.indexOf(storedTheme()) + 1) % order.length] ?? "system";
  applyTheme(next);
  return next;
}
