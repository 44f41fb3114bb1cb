/**
 * Projects: `unit` and `engine` beside the sources, the others against the built command. All resolve packages to their
 * sources. Files of `unit` share processes, which saves a third of their time; those of `engine` count memory, threads and
 * kernels, and get a process each. Files of these two and of `e2e` run beside each other, one more than there are cores, for
 * they often wait for processes. Nothing runs beside those of `alone`, which watch what a server takes and how soon it
 * answers, or build it anew. `long` is what `npm run verify` leaves out, `npm run test:long`: small versions of the lanes
 * that run for hours, commands that are killed again and again, what runs on PostgreSQL and an object store, and the oracle
 * with four times as many cases; `long-alone`, the largest requests and those that the hostile lane asks for one by one.
 */
import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

const shared = {
  resolve: { conditions: ["@sheaf/source", "node", "default"] },
  ssr: { resolve: { conditions: ["@sheaf/source", "node", "default"] } },
};
// Deadlines tell slow from hung, also on a machine that does other things.
const deadlines = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 30_000 } } };
const maxWorkers = availableParallelism() + 1;
// Servers under test write as long as there is any room, whatever else is on the machine's disk.
const env = { SHEAF_DISK_RESERVE: String(32 * 1024 * 1024) };
const alone = { name: "alone", env, fileParallelism: false, sequence: { groupOrder: 1 } };
const ENGINE = ["packages/{engine,importers,inference,process}/src/**/*.test.ts"];
const ALONE = ["test/hostile/**/*.test.ts", "test/e2e/quickstart.test.ts"];
/** Of the hostile lane, those that wait for processes that are stopped or start again, and assert no time. */
const WAITING = ["test/hostile/{crash,stopped}.test.ts"];
/** Of the hostile lane, the largest requests. */
const LARGEST = ["test/hostile/{checks,chunking,diversity,explain,large-requests,metadata-reads}.test.ts"];
/** Of the hostile lane, what looks at one kind of request each; the rest looks at all callers, and stays in `verify`. */
const ONE_KIND = [
  "test/hostile/{bounds,catalog,deletion,grouping,indexer,overtaken,regex,rewritten,short-chunks,unsealed}.test.ts",
];
/** Killed at any moment, or damaged in every way, again and again. */
const KILLED = ["test/damage/{compact,index-files,shared-files}.test.ts"];
/** Carries 200 MB from one place to another. */
const LARGE = ["test/e2e/large-export.test.ts"];
/** Each starts PostgreSQL, or an object store and uploads of many parts. */
const DATABASES = ["packages/engine/src/**/{postgres,object}-*.test.ts"];
const ORACLE = ["packages/engine/src/query/{differential,reopened,explain/explain}.test.ts"];
const ORACLE_CASES = "20000";

export default defineConfig({
  test: {
    projects: [
      {
        ...shared,
        test: {
          ...deadlines,
          name: "unit",
          isolate: false,
          include: [
            "packages/*/src/**/*.test.ts",
            "apps/*/src/**/*.test.ts",
            "benchmarks/**/*.test.ts",
            "test/*.test.ts",
            "test/contract/**/*.test.ts",
          ],
          exclude: [...configDefaults.exclude, ...ENGINE],
          maxWorkers,
        },
      },
      {
        ...shared,
        test: {
          ...deadlines,
          name: "engine",
          include: ENGINE,
          exclude: [...configDefaults.exclude, ...DATABASES],
          maxWorkers,
        },
      },
      {
        ...shared,
        test: {
          ...deadlines,
          name: "e2e",
          env,
          include: [
            "test/{damage,docs,compat,examples}/**/*.test.ts",
            "test/e2e/!(quickstart).test.ts",
            ...WAITING,
          ],
          exclude: [...configDefaults.exclude, ...KILLED, ...LARGE],
          maxWorkers,
        },
      },
      {
        ...shared,
        test: {
          ...deadlines,
          name: "long",
          env: { ...env, SHEAF_DIFFERENTIAL_CASES: ORACLE_CASES },
          include: [
            "test/{cluster,fuzz,soak,torture}/**/*.test.ts",
            ...[...KILLED, ...LARGE, ...ORACLE, ...DATABASES],
          ],
          maxWorkers,
        },
      },
      {
        ...shared,
        test: {
          ...deadlines,
          ...alone,
          include: ALONE,
          exclude: [...configDefaults.exclude, ...WAITING, ...LARGEST, ...ONE_KIND],
        },
      },
      {
        ...shared,
        test: { ...deadlines, ...alone, name: "long-alone", include: [...LARGEST, ...ONE_KIND] },
      },
    ],
  },
});
