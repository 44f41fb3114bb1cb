/** What `sheaf import FOLDER` does and says of an exported tenant. */
import { readServerAddress } from "../../../config.ts";
import { SettingError } from "../../../settings/setting-error.ts";
import type { OptionTexts } from "../../command.ts";
import { progressLines } from "../../progress-lines.ts";
import { withServer } from "../../server-request.ts";
import { FOLDER_OPTIONS } from "../folder/folder-command.ts";
import { importTenant } from "./import-tenant.ts";
import { readHead } from "./tenant-manifest.ts";
import { TenantState } from "./tenant-state.ts";
import { several } from "../../several.ts";

/** Options of `sheaf import` that are about one collection. */
const OF_ONE = ["database", "create", ...FOLDER_OPTIONS];

/** Gives the exit code. */
export async function runTenantImport(folder: string, options: OptionTexts): Promise<number> {
  const stranger = OF_ONE.find((name) => options[name] !== undefined);
  if (stranger !== undefined)
    throw new SettingError(`--${stranger} is not for an exported tenant: all of it is imported`);
  const { tenant: exported } = await readHead(folder);
  const tenant = options["tenant"] ?? exported;
  const state = new TenantState(folder, `${readServerAddress(options).url} ${tenant}`);
  const tell = progressLines();
  const onProgress = (collections: number, records: number): void =>
    tell(() => `${collections} collections, ${records} records so far`);
  await withServer(options, (client) => importTenant({ folder, tenant, client, state, onProgress }));
  const { collections, written, refused } = state.totals;
  state.remove();
  if (options["json"] !== undefined)
    console.log(JSON.stringify({ tenant, collections, written, refused }, null, 2));
  else {
    const more = refused === 0 ? "" : `; refused: ${refused}, see collections/*.refused.jsonl`;
    console.log(
      `${several(collections, "collection")} with ${several(written, "record")} written to ${tenant}${more}`,
    );
  }
  return refused === 0 ? 0 : 1;
}
