/**
 * Child process of the bare loop: no tokenizing, no queue, no HTTP, the inputs made before the clock starts. Same
 * model file and same session options as a model replica. First message: the packs; second: go.
 */
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { seededRandom } from "../measure/random.ts";
import type { LoopResult, Packs } from "./bare-loop.ts";

/** Ids of whole words in BERT's uncased vocabulary; which ones makes no difference to the time. */
const FIRST_WORD = 1_996;
const WORDS = 20_000;
const WARM_UP_RUNS = 3;

type Feeds = Readonly<Record<string, Tensor>>;

const folder = dirname(createRequire(import.meta.url).resolve("@sheaf/model-minilm/package.json"));
const random = seededRandom(1);

process.on("disconnect", () => process.exit(0));
const [packs] = (await once(process, "message")) as [Packs];
const session = await InferenceSession.create(join(folder, "onnx", "model.onnx"), {
  executionProviders: ["cpu"],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: "0" } } },
});
const batches = packs.map(feedsOf);
for (const feeds of batches.slice(0, WARM_UP_RUNS)) await session.run(feeds);
process.send?.("ready");
await once(process, "message");
process.send?.(await timeRuns());

async function timeRuns(): Promise<LoopResult> {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (const feeds of batches) await session.run(feeds);
  const wallSeconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpuSeconds: (user + system) / 1e6, wallSeconds };
}

function feedsOf(lengths: readonly number[]): Feeds {
  const longest = Math.max(...lengths);
  const ids = new BigInt64Array(lengths.length * longest);
  const mask = new BigInt64Array(ids.length);
  for (const [row, length] of lengths.entries()) {
    for (let token = 0; token < length; token++) {
      ids[row * longest + token] = BigInt(FIRST_WORD + Math.floor(random() * WORDS));
      mask[row * longest + token] = 1n;
    }
  }
  const dims = [lengths.length, longest];
  const known = {
    input_ids: new Tensor("int64", ids, dims),
    attention_mask: new Tensor("int64", mask, dims),
    token_type_ids: new Tensor("int64", new BigInt64Array(ids.length), dims),
  };
  return Object.fromEntries(Object.entries(known).filter(([name]) => session.inputNames.includes(name)));
}
