/** The parsers are a package of their own, which a server does without. */
import type * as Importers from "@sheaf/importers";
import { SettingError } from "../../../settings/setting-error.ts";

/** @throws SettingError where it is not installed. */
export async function loadImporters(): Promise<typeof Importers> {
  try {
    return await import("@sheaf/importers");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const message = "the parsers of files are a package of their own: npm install @sheaf/importers";
    throw new SettingError(message, { cause });
  }
}
