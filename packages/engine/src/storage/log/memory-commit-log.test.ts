import { commitLogSuite } from "./commit-log.suite.ts";
import { MemoryCommitLog } from "./memory-commit-log.ts";

commitLogSuite({ name: "log in memory", open: (maxBytes) => new MemoryCommitLog(maxBytes) });
