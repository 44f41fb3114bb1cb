import { MemoryFiles } from "./memory-files.ts";
import { segmentFilesSuite } from "./segment-files.suite.ts";

segmentFilesSuite({ name: "files in memory", open: () => new MemoryFiles() });
