export { type FileKind, kindOf } from "./file-kind.ts";
export { FileParser, type ParsedFile } from "./file-parser.ts";
export { PARSER_LIMITS } from "./parser-limits.ts";
export { tableFormatOf, tableLines } from "./table-reader.ts";
export { type FoundFile, type SkippedPath, readFound, walkFolder } from "./walk-folder.ts";
