/** Pages under docs/reference that are generated from tables in the code. `npm run docs` writes them, a test holds them. */
import { LIMIT_TABLE } from "@sheaf/protocol";
import { SETTINGS } from "@sheaf/server";

/** File name under docs/reference -> its whole text. */
export function referencePages(): Readonly<Record<string, string>> {
  return { "limits.md": limitsPage(), "settings.md": settingsPage() };
}

function limitsPage(): string {
  const rows = Object.entries(LIMIT_TABLE).map(
    ([name, { value, doc }]) => `| \`${name}\` | ${value.toLocaleString("en-US")} | ${doc} |`,
  );
  return page(
    "Limits",
    "Every bound of Sheaf. Going over one is refused with a message that names the place in the body.",
    ["| limit | value | what it bounds |", "|---|---:|---|", ...rows],
  );
}

function settingsPage(): string {
  const rows = Object.values(SETTINGS).map(({ env, flag, default: preset, doc }) => {
    const option = flag === null ? "" : `\`--${flag.name} <${flag.operand.replaceAll("|", " or ")}>\``;
    return `| ${option} | \`${env}\` | ${preset === null || preset === "" ? "" : `\`${preset}\``} | ${doc} |`;
  });
  return page(
    "Settings",
    "Of `sheaf serve`. A flag wins over the environment, the environment over the default.",
    ["| flag | environment | default | |", "|---|---|---|---|", ...rows],
  );
}

function page(title: string, lead: string, table: readonly string[]): string {
  return `# ${title}\n\n${lead} This page is generated from the code by \`npm run docs\`.\n\n${table.join("\n")}\n`;
}
