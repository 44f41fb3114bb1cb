/** Makes a data folder if need be, and closes it to everybody but its owner. */
import { makeFolder } from "./make-folder.ts";
import { restrictAccess } from "./restrict-access.ts";

/**
 * Returns sentences on what others can still reach. Throws `failed_precondition` where the folder can be neither used
 * nor made.
 */
export function prepareDataFolder(path: string): readonly string[] {
  makeFolder(path);
  return restrictAccess(path);
}
