/** Something the operator gave that cannot be used, in words for the operator; the command line shows no stack. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}
