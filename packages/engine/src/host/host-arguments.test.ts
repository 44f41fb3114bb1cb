import { expect, it } from "vitest";
import { clusterOfHost, hostStart } from "./host-arguments.ts";

const SECRETS = ["a-secret-of-32-characters-or-more", "another-secret-of-32-characters-!"];

it("hands the secrets of the cluster over in the environment, for others can read arguments", () => {
  const options = { dataFolder: "/data", cluster: { secrets: SECRETS, readReplicas: 3 } };
  const { settings, env } = hostStart(options, "token");
  for (const secret of SECRETS) expect(JSON.stringify(settings)).not.toContain(secret);
  expect(clusterOfHost(settings.cluster, env)).toEqual({ secrets: SECRETS, readReplicas: 3 });
});

it("leaves records where they are unless it is told of other nodes", () => {
  const { settings, env } = hostStart({ dataFolder: "/data" }, "token");
  expect(clusterOfHost(settings.cluster, env)).toBeNull();
});
