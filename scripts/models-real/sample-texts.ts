/** Texts that any of the models has to tell apart, and texts of many lengths for one batch. */

/** The second says what the first says in other words, the third something else. */
export interface Triple {
  readonly text: string;
  readonly near: string;
  readonly far: string;
}

export const PARAPHRASES: readonly Triple[] = [
  {
    text: "A kitten sleeps on the warm sofa.",
    near: "A small cat is napping on a couch.",
    far: "The parliament votes on a new tax law.",
  },
  {
    text: "How do I reset my password?",
    near: "What can I do when I have forgotten my login credentials?",
    far: "The steam train crosses a railway bridge.",
  },
  {
    text: "The company's revenue rose by ten percent last year.",
    near: "Sales of the firm grew by a tenth compared with the year before.",
    far: "Bees collect nectar from the flowers of the heather.",
  },
];

export const TRANSLATIONS: readonly Triple[] = [
  {
    text: "The weather is beautiful today.",
    near: "Das Wetter ist heute wunderschön.",
    far: "Der Zug nach Hamburg hat eine Stunde Verspätung.",
  },
  { text: "I would like a cup of coffee.", near: "我想要一杯咖啡。", far: "这本书讲述了罗马的历史。" },
];

/** The first document answers the query, the second does not. */
export const QUESTIONS: readonly Triple[] = [
  {
    text: "what do bees eat",
    near: "Bees feed on nectar and pollen, which they collect from flowers.",
    far: "The parliament passed a law on the taxation of companies.",
  },
  {
    text: "capital of france",
    near: "Paris is the capital and the largest city of France.",
    far: "Water boils at one hundred degrees Celsius at sea level.",
  },
];

/** Lengths from one word to hundreds, several of them alike; a wrong mask or pooling shows in at least one. */
export const MIXED_LENGTHS: readonly string[] = [
  "ships",
  "tides",
  "A harbour at dawn.",
  "A harbour at dusk.",
  ...PARAPHRASES.flatMap(({ text, near, far }) => [text, near, far]),
  words(40),
  words(90),
  words(180),
];

function words(count: number): string {
  const stock = "ships wait for the tide while the harbour sleeps and gulls cry over quiet water".split(" ");
  return Array.from({ length: count }, (_, index) => stock[(index * 7) % stock.length]).join(" ");
}
