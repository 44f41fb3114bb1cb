/** Which options of `sheaf/bm25` give finite weights. Apart from the encoder, which only its worker loads. */
import { invalid } from "@sheaf/protocol";
import type { Bm25Options } from "../embedder.ts";

/** 400 with the option's name. */
export function checkBm25Options(options: Bm25Options): void {
  const { k, b, averageDocumentLength, tokenMaxLength } = options;
  if (k !== undefined && !(Number.isFinite(k) && k >= 0))
    throw invalid("k", "must be a number of at least 0");
  if (b !== undefined && !(b >= 0 && b <= 1)) throw invalid("b", "must be a number from 0 to 1");
  if (
    averageDocumentLength !== undefined &&
    !(Number.isFinite(averageDocumentLength) && averageDocumentLength > 0)
  ) {
    throw invalid("avg_doc_length", "must be a number above 0");
  }
  if (tokenMaxLength !== undefined && !(Number.isInteger(tokenMaxLength) && tokenMaxLength > 0)) {
    throw invalid("token_max_length", "must be a positive integer");
  }
}
