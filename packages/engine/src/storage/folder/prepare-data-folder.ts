/** Makes a data folder if need be, closes it to everybody but its owner, and looks whether there is room on its disk. */
import { type DiskReserve, createDiskSpace } from "./disk-space.ts";
import { makeFolder } from "./make-folder.ts";
import { restrictAccess } from "./restrict-access.ts";

/**
 * Returns sentences on what an operator should know. Throws `failed_precondition` where the folder can be neither used
 * nor made.
 */
export function prepareDataFolder(path: string, diskReserve: DiskReserve): readonly string[] {
  makeFolder(path);
  const warnings = [...restrictAccess(path)];
  const problem = createDiskSpace(path, { diskReserve }).problem();
  if (problem !== null) warnings.push(`writes are refused with 507 until the disk has room: ${problem}`);
  return warnings;
}
