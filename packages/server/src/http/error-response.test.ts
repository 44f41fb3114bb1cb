import { SheafError } from "@sheaf/protocol";
import { describe, expect, it } from "vitest";
import { type ErrorContext, errorResponse } from "./error-response.ts";

const CONTEXT: ErrorContext = { surface: "v2", requestId: "request-7", tooLargeStatus: 413 };

function frameworkError(code: string, statusCode: number): Error {
  return Object.assign(new Error("words of the framework"), { code, statusCode });
}

describe("errorResponse", () => {
  it("shows a SheafError in the body of its surface", () => {
    const error = new SheafError("not_found", "Collection [x] does not exist");
    expect(errorResponse(error, CONTEXT)).toEqual({
      status: 404,
      body: '{"error":"NotFoundError","message":"Collection [x] does not exist"}',
      headers: {},
      unexpected: false,
    });
    expect(errorResponse(error, { ...CONTEXT, surface: "embed" }).body).toBe(
      '{"error":"Collection [x] does not exist"}',
    );
  });

  it("names the request and nothing else of an error that is not for callers", () => {
    const response = errorResponse(new TypeError("secret of the inside"), CONTEXT);
    expect(response).toMatchObject({ status: 500, unexpected: true });
    expect(response.body).not.toContain("secret");
    expect(JSON.parse(response.body)).toEqual({
      error: "InternalError",
      message: expect.stringContaining("request-7"),
    });
    expect(errorResponse("thrown text", CONTEXT).status).toBe(500);
    expect(errorResponse(undefined, CONTEXT).status).toBe(500);
  });

  it.each([
    [new SheafError("rate_limited", "slow down", { retryAfterSeconds: 7 }), "7"],
    [new SheafError("rate_limited", "slow down"), "1"],
    [new SheafError("unavailable", "restarting"), "1"],
    [new SheafError("model_unavailable", "no weights"), "60"],
    [new SheafError("model_unavailable", "coming", { retryAfterSeconds: 5 }), "5"],
    [new SheafError("invalid_argument", "no"), undefined],
  ])("says when to try again: %s", (error, seconds) => {
    expect(errorResponse(error, CONTEXT).headers?.["retry-after"]).toBe(seconds);
  });

  it.each(["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"])("takes %s for a caller that has left", (code) => {
    const error = Object.assign(new Error("gone"), { code });
    expect(errorResponse(error, CONTEXT)).toMatchObject({ unexpected: false });
  });

  it.each([
    ["FST_ERR_CTP_BODY_TOO_LARGE", 413, 413, 413],
    ["FST_ERR_CTP_BODY_TOO_LARGE", 413, 400, 400],
    ["FST_ERR_BAD_URL", 400, 413, 400],
    ["FST_ERR_MAX_PARAM_LENGTH", 414, 413, 404],
    ["FST_ERR_OF_OURS", 500, 413, 500],
    ["ERR_SOMETHING", 400, 413, 500],
  ] as const)("turns %s (%i) with %i into %i", (code, statusCode, tooLargeStatus, status) => {
    const response = errorResponse(frameworkError(code, statusCode), { ...CONTEXT, tooLargeStatus });
    expect(response.status).toBe(status);
    expect(response.body).not.toContain("words of the framework");
  });
});
