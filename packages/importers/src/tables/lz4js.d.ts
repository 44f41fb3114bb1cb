/** The package has no types of its own. */
declare module "lz4js" {
  /** Of an LZ4 frame. */
  export function decompress(frame: Uint8Array): Uint8Array;
}
