/**
 * The cache layout of the Hugging Face tools, so that what they downloaded is used and what Sheaf downloads is theirs
 * too: `models--<owner>--<name>/{blobs/<hash>, snapshots/<commit>/<path> -> blob, refs/<name> with a commit}`.
 * Invariant: a blob bears its name only when it is whole.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const COMMIT = /^[0-9a-f]{40}$/u;

/**
 * Ref with the commit that Sheaf took for a model without a pinned one. Other tools move `main` as upstream does, and
 * a model must not change under the collections that were embedded with it.
 */
const OWN_REF = "sheaf";
const MAIN_REF = "main";

/** Paths of one repository in the cache. */
export class RepositoryCache {
  readonly folder: string;
  readonly blobs: string;
  readonly snapshots: string;
  readonly refs: string;
  /** Held by the process that pulls. */
  readonly lockFile: string;

  constructor(cacheFolder: string, repository: string) {
    const name = `models--${repository.replaceAll("/", "--")}`;
    this.folder = join(cacheFolder, name);
    this.blobs = join(this.folder, "blobs");
    this.snapshots = join(this.folder, "snapshots");
    this.refs = join(this.folder, "refs");
    this.lockFile = join(cacheFolder, ".locks", name, "sheaf-pull.lock");
  }

  snapshot(commit: string): string {
    return join(this.snapshots, commit);
  }

  /** The commit to use: the pinned one, else the one that was resolved before; `null`: none yet. */
  commit(pinned: string | null): string | null {
    if (pinned !== null) return pinned;
    return this.#readRef(OWN_REF) ?? this.#readRef(MAIN_REF);
  }

  /** Refs that record a resolved `main`. */
  refsOfMain(): readonly string[] {
    return existsSync(join(this.refs, MAIN_REF))
      ? [join(this.refs, OWN_REF)]
      : [join(this.refs, OWN_REF), join(this.refs, MAIN_REF)];
  }

  #readRef(name: string): string | null {
    const file = join(this.refs, name);
    if (!existsSync(file)) return null;
    const commit = readFileSync(file, "utf8").trim();
    return COMMIT.test(commit) ? commit : null;
  }
}

export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}
