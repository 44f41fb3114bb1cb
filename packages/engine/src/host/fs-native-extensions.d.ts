/** The package has no types of its own. */
declare module "fs-native-extensions" {
  /** `false`: another open file has a lock that excludes this one. Throws the error of the system where there are no locks. */
  export function tryLock(fd: number, options?: { readonly shared?: boolean }): boolean;
}
