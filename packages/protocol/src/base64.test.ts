import * as fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBase64 } from "./base64.ts";

it("decodes what encoders make", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(decodeBase64(Buffer.from(bytes).toString("base64"))).toEqual(bytes);
    }),
    { numRuns: 2000 },
  );
});

it("takes a text only if an encoder could have made it", () => {
  const letters = fc.constantFrom(..."AQgw+/=z9_- ".split(""));
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      const bytes = decodeBase64(text);
      const encoded = Buffer.from(text, "base64");
      expect(bytes === null ? null : [...bytes]).toEqual(
        encoded.toString("base64") === text ? [...encoded] : null,
      );
    }),
    { numRuns: 5000 },
  );
});

it.each(["A", "AB", "ABC", "AB=C", "A===", "====", "AB C", "AB\n=", "AB-_", "AB==AB==", "ABé=", "AB\u0100="])(
  "refuses %j",
  (text) => {
    expect(decodeBase64(text)).toBeNull();
  },
);
