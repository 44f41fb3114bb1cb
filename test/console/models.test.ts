/** A model that the lab has fetched, from a hub that refuses it, and then breaks off again and again. */
import { expect, it, onTestFinished } from "vitest";
import { fixtureFolder } from "../../packages/inference/src/graph/testing/fixture-models.ts";
import { FaultHub } from "../../packages/inference/src/hub/testing/fault-hub.ts";
import { ROOT_KEY, ServedSheaf, temporaryFolder } from "../e2e/testing/served-sheaf.ts";
import { ConsoleLane } from "./testing/console-lane.ts";

const MODEL = "prithivida/Splade_PP_en_v1";
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const WEIGHTS = "onnx/model.onnx";
/** Half a second passes after each. */
const CUTS = 8;
const CUT_BYTES = 50_000;

const lane = new ConsoleLane();

it("says that a model is not here, how far its weights are, and embeds with it", async () => {
  const hub = await FaultHub.start();
  onTestFinished(() => hub.close());
  hub.publish(MODEL, COMMIT, fixtureFolder("tiny-bert-mlm-splade"));
  hub.failNext(WEIGHTS, { type: "status", status: 404 });
  const env = { HF_HOME: await temporaryFolder(), HF_ENDPOINT: hub.endpoint };
  const served = await ServedSheaf.start({ env });
  onTestFinished(() => served.dispose());
  const console = await lane.openPage({ url: served.url, key: ROOT_KEY, place: "#/lab" });
  const { page } = console;
  const row = page.getByRole("row").filter({ hasText: MODEL });
  await row.getByText("not here").waitFor();
  await row.getByRole("button", { name: "Fetch" }).click();
  await row.getByText("could not be fetched").waitFor();
  hub.failNext(WEIGHTS, { type: "cut", afterBytes: CUT_BYTES }, CUTS);
  await row.getByRole("button", { name: "Fetch" }).click();
  const progress = row.getByRole("progressbar", { name: `Fetching ${MODEL}` });
  await expect
    .poll(async () => Number(await progress.getAttribute("value")), { timeout: 30_000 })
    .toBeGreaterThan(CUT_BYTES);
  await console.expectAccessible();
  await row.getByText("here", { exact: true }).waitFor();
  await page.getByRole("combobox", { name: "Model" }).selectOption(MODEL);
  await page.getByLabel("Texts, one a line").fill("ships in the harbour");
  await page.getByRole("button", { name: "Embed", exact: true }).click();
  await page.getByRole("region", { name: "Tokens of text 1" }).waitFor();
  await row.getByText("in memory").waitFor();
  console.expectQuiet();
});
