/** Parses files that its parent sends, one after the other. Its parent ends it when a file takes too much memory or time. */
import { withoutNetwork } from "./no-network.ts";
import { type ParseRequest, parse } from "./parsers/parse.ts";

withoutNetwork();
process.on("message", (request: ParseRequest) => {
  void parse(request).then(
    (parsed) => process.send?.({ parsed }),
    (error: unknown) => process.send?.({ reason: error instanceof Error ? error.message : String(error) }),
  );
});
// Its parent is gone.
process.on("disconnect", () => process.exit(0));
