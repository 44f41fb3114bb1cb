/**
 * Fetches what one model needs into the cache, and nothing else. All blobs come first and the links of the snapshot
 * last, the weights' at the very end, so that a snapshot with weights in it can be loaded.
 */
import { mkdir, readFile, readlink, rename, rm, statfs, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { SheafError } from "@sheaf/protocol";
import { errorCode, isObject, parseObject } from "../graph/model-file.ts";
import { readOnnxSummary } from "../graph/onnx-reader.ts";
import { WEIGHT_FILES } from "../graph/prepare-model.ts";
import { downloadFile } from "./download-file.ts";
import { RepositoryCache } from "./hub-cache.ts";
import type { HubClient, HubFile, HubListing } from "./hub-client.ts";
import { hubError } from "./hub-error.ts";
import { withPullLock } from "./pull-lock.ts";
import type { Wait } from "./retrying.ts";

export interface PullProgress {
  /** File that is fetched, as upstream names it. */
  readonly file: string;
  /** Bytes of the model that are here. */
  readonly receivedBytes: number;
  /** Bytes of the model; grows once where the weights name further files. */
  readonly totalBytes: number;
}

export interface PullRequest {
  readonly repository: string;
  /** Commit to fetch; `null`: the one resolved before, else what `main` is now, which is recorded. */
  readonly revision: string | null;
  readonly cacheFolder: string;
  readonly wait: Wait;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: PullProgress) => void;
}

export interface PulledModel {
  /** Folder of the snapshot. */
  readonly path: string;
  readonly commit: string;
  /** Of the files that the model needs, fetched now or before. */
  readonly totalBytes: number;
}

/** Beside the weights; those that upstream does not have are not needed. */
const SMALL_FILES: readonly string[] = [
  "config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "sentence_bert_config.json",
];
/** Left free on the disk. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/** Throws 503 that says what to do, also while another process pulls the same model. */
export async function pullModel(client: HubClient, request: PullRequest): Promise<PulledModel> {
  const cache = new RepositoryCache(request.cacheFolder, request.repository);
  return withPullLock(cache.lockFile, async () => {
    const revision = cache.commit(request.revision) ?? "main";
    const listing = await client.listing(request.repository, revision, request.signal);
    const pull = new Pull(client, request, { cache, listing });
    const files = await pull.fetchAll();
    await linkSnapshot(cache, listing.commit, files);
    if (request.revision === null) await recordCommit(cache, listing.commit);
    return {
      path: cache.snapshot(listing.commit),
      commit: listing.commit,
      totalBytes: files.reduce((sum, { file }) => sum + file.size, 0),
    };
  });
}

interface Fetched {
  readonly file: HubFile;
  readonly blob: string;
}

class Pull {
  readonly #client: HubClient;
  readonly #request: PullRequest;
  readonly #cache: RepositoryCache;
  readonly #commit: string;
  readonly #files: ReadonlyMap<string, HubFile>;
  readonly #fetched: Fetched[] = [];
  #totalBytes = 0;

  constructor(
    client: HubClient,
    request: PullRequest,
    { cache, listing }: { readonly cache: RepositoryCache; readonly listing: HubListing },
  ) {
    this.#client = client;
    this.#request = request;
    this.#cache = cache;
    this.#commit = listing.commit;
    this.#files = new Map(listing.files.map((file) => [file.path, file]));
  }

  /** The main weight file last. */
  async fetchAll(): Promise<readonly Fetched[]> {
    const main = WEIGHT_FILES.find((path) => this.#files.has(path));
    if (main === undefined) {
      throw hubError(`${this.#request.repository} at ${this.#commit} has no ${WEIGHT_FILES.join(", no ")}`);
    }
    const small = SMALL_FILES.filter((path) => this.#files.has(path));
    await this.#fetch([...small, main]);
    const weights = this.#fetched.pop();
    if (weights === undefined) throw new SheafError("internal", "a pull fetched nothing");
    await this.#fetch(await neighboursOf(weights));
    this.#fetched.push(weights);
    return this.#fetched;
  }

  async #fetch(paths: readonly string[]): Promise<void> {
    const files = paths.map((path) => this.#require(path));
    this.#totalBytes += files.reduce((sum, file) => sum + file.size, 0);
    const blobs = this.#cache.blobs;
    await mkdir(blobs, { recursive: true });
    await checkSpace(blobs, files);
    for (const file of files) {
      const { repository, signal, wait } = this.#request;
      const before =
        this.#totalBytes - files.slice(files.indexOf(file)).reduce((sum, { size }) => sum + size, 0);
      const onBytes = (bytes: number): void => {
        const receivedBytes = before + Math.min(bytes, file.size);
        this.#request.onProgress?.({ file: file.path, receivedBytes, totalBytes: this.#totalBytes });
      };
      const target = { repository, commit: this.#commit, file, blobs };
      const blob = await downloadFile(this.#client, target, { wait, signal, onBytes });
      this.#fetched.push({ file, blob });
    }
  }

  #require(path: string): HubFile {
    const file = this.#files.get(path);
    if (file !== undefined) return file;
    throw hubError(
      `${this.#request.repository} at ${this.#commit} has no ${path}, which its weights refer to`,
    );
  }
}

/** Files that hold the tensors of a graph, or the shards of an index: they lie beside it. */
async function neighboursOf({ file, blob }: Fetched): Promise<readonly string[]> {
  const folder = dirname(file.path);
  const beside = (name: string): string => (folder === "." ? name : `${folder}/${name}`);
  if (file.path.endsWith(".onnx")) return (await readOnnxSummary(blob)).externalFiles.map(beside);
  if (!file.path.endsWith(".json")) return [];
  const weightMap = parseObject(blob, await readFile(blob, "utf8"))["weight_map"];
  const shards = isObject(weightMap) ? Object.values(weightMap) : [];
  return [...new Set(shards.map(String))].map(beside);
}

async function checkSpace(folder: string, files: readonly HubFile[]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = files.reduce((sum, { size }) => sum + size, RESERVE_BYTES);
  if (bavail * bsize >= needed) return;
  const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  throw hubError(`${folder} has ${mebibytes(bavail * bsize)} free, up to ${mebibytes(needed)} are needed`);
}

async function linkSnapshot(
  cache: RepositoryCache,
  commit: string,
  files: readonly Fetched[],
): Promise<void> {
  for (const { file, blob } of files) {
    const link = join(cache.snapshot(commit), file.path);
    const target = relative(dirname(link), blob);
    if ((await linkTarget(link)) === target) continue;
    await mkdir(dirname(link), { recursive: true });
    const draft = join(dirname(link), `.${basename(link)}.${process.pid}`);
    await rm(draft, { force: true });
    await symlink(target, draft);
    await rename(draft, link);
  }
}

async function linkTarget(link: string): Promise<string | null> {
  try {
    return await readlink(link);
  } catch (error) {
    // EINVAL: a file of its own, as on systems without links.
    if (errorCode(error) === "ENOENT" || errorCode(error) === "EINVAL") return null;
    throw error;
  }
}

async function recordCommit(cache: RepositoryCache, commit: string): Promise<void> {
  await mkdir(cache.refs, { recursive: true });
  for (const ref of cache.refsOfMain()) await writeFile(ref, commit);
}
