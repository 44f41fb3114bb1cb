/** Options of every command that is about something in a database. */
import { DEFAULT_DATABASE, DEFAULT_TENANT } from "@sheaf/protocol";
import type { CommandOption } from "./command.ts";

/** @param of What lies there, such as `the collection`. */
export function databaseOptions(of: string): readonly CommandOption[] {
  return [
    { flags: "--tenant <tenant>", doc: `Tenant of ${of}. [default ${DEFAULT_TENANT}]` },
    { flags: "--database <database>", doc: `Database of ${of}. [default ${DEFAULT_DATABASE}]` },
  ];
}
