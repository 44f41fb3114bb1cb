/** Pages under docs/reference that are generated from tables in the code. `npm run docs` writes them, a test holds them. */
import { LIMIT_TABLE } from "@sheaf/protocol";
import { BOUND_SETTINGS, REPLY_SETTINGS, SETTING_GROUPS } from "@sheaf/server";
import { clientPage } from "./client-page.ts";

/** File name under docs/reference -> its whole text. */
export function referencePages(): Readonly<Record<string, string>> {
  return { "client.md": clientPage(), "limits.md": limitsPage(), "settings.md": settingsPage() };
}

function limitsPage(): string {
  const rows = Object.entries(LIMIT_TABLE).map(
    ([name, { value, over, doc }]) =>
      `| \`${name}\` | ${value.toLocaleString("en-US")} | ${over ?? ""} | ${doc} |`,
  );
  const settings = Object.values(BOUND_SETTINGS).map(
    ({ flag, default: initial, over, overDoc, doc }) =>
      `| \`--${flag?.name}\` | ${initial === "0" ? "none" : initial} | ${overDoc ?? over} | ${doc} |`,
  );
  const replies = Object.values(REPLY_SETTINGS).map(
    ({ flag, default: initial, doc }) => `| \`--${flag?.name}\` | ${initial} | ${doc} |`,
  );
  return page(
    "Limits",
    "Every limit of Sheaf. Going over one is refused with the status beside it and a message that names the place in the body. A test sends each of them what is at the limit and what is over it.",
    [
      "| limit | value | over it | what it limits |",
      "|---|---:|---:|---|",
      ...rows,
      "",
      "## Limits that are settings",
      "",
      "A key may have rates of its own, which go before these; 429 comes with `Retry-After` and the `RateLimit` headers.",
      "",
      "| setting | unless set | over it | what it limits |",
      "|---|---:|---:|---|",
      ...settings,
      "",
      "## Settings of replies",
      "",
      "What happens to replies with records and lists that are long, many or read slowly. [Connections](../guide/running-in-production.md#connections) have settings of their own.",
      "",
      "| setting | unless set | what it limits |",
      "|---|---:|---|",
      ...replies,
    ],
  );
}

function settingsPage(): string {
  const sections = SETTING_GROUPS.flatMap(({ title, settings }) => [
    ...["", `## ${title}`, "", "| flag | environment | default | |", "|---|---|---|---|"],
    ...settings.map(([, { env, flag, default: preset, doc }]) => {
      const option = flag === null ? "" : `\`--${flag.name} <${flag.operand.replaceAll("|", " or ")}>\``;
      return `| ${option} | \`${env}\` | ${preset === null || preset === "" ? "" : `\`${preset}\``} | ${doc} |`;
    }),
  ]);
  return page(
    "Settings",
    "Of `sheaf serve`. A flag wins over the environment, the environment over the default. For `on` and `off`, `true` and `false`, `1` and `0`, `yes` and `no` are taken, too.",
    sections.slice(1),
  );
}

function page(title: string, lead: string, table: readonly string[]): string {
  return `# ${title}\n\n${lead} This page is generated from the code by \`npm run docs\`.\n\n${table.join("\n")}\n`;
}
