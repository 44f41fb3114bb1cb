/** What index files are told apart by. Collections of before have no epoch, and one history. */
export function lineageOf({ id, epoch }: { readonly id: string; readonly epoch: string }): string {
  return epoch || id;
}
