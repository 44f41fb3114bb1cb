/** Dark or light: as the system says, until its user says something else. */
const STORED = "sheaf.theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");
DARK.addEventListener("change", () => show(storedTheme()));

export type Theme = "system" | "light" | "dark";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  show(theme);
}

function show(theme: Theme): void {
  const system = DARK.matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = theme === "system" ? system : theme;
}

export function nextTheme(): Theme {
  const order: readonly Theme[] = ["system", "light", "dark"];
  const next = order[(order.indexOf(storedTheme()) + 1) % order.length] ?? "system";
  applyTheme(next);
  return next;
}
