import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FlagTexts, SETTINGS, readSettings, unknownVariables } from "./config.ts";
import { isLoopback } from "./is-loopback.ts";
import { SettingError } from "./settings/setting-error.ts";

const ROOT_KEY = "sixteen-letters!";

describe("unknownVariables", () => {
  it("are those that look like settings and are none", () => {
    const environment = { SHEAF_PROT: "9", SHEAF_PORT: "9", SHEAF_KEY: "k", SHEAF_URL: "u", HF_HOM: "h" };
    expect(unknownVariables(environment)).toEqual(["SHEAF_PROT"]);
  });
});

describe("readSettings", () => {
  it("gives the defaults where nothing is set", () => {
    expect(readSettings({}, {})).toEqual({
      host: "127.0.0.1",
      port: 8000,
      dataFolder: "./sheaf-data",
      auth: true,
      role: "all",
      rootKey: null,
      rootKeyFile: null,
      configFile: null,
      tlsCert: null,
      tlsKey: null,
      allowReset: false,
      strict: false,
      logLevel: "info",
      corsAllowOrigins: [],
      allowedHosts: [],
      trustedProxies: [],
      maxConnections: 2_048,
      maxConnectionsPerAddress: 512,
      idleConnectionSeconds: 75,
      metricsHost: "127.0.0.1",
      modelsFile: null,
      tasksFile: null,
      modelMemory: null,
      pinnedModels: [],
      autoPull: false,
      hfHome: join(homedir(), ".cache/huggingface"),
      hfEndpoint: "https://huggingface.co",
      hfToken: null,
      hfTokenFile: null,
      hfOffline: false,
      keyOverlapSeconds: 86_400,
      requestSeconds: 60,
      bulkRequestSeconds: 600,
      requestsPerMinute: 0,
      tokensPerMinute: 0,
      concurrentRequests: 0,
      quotaTokensPerDay: 0,
      quotaDatabases: 100_000,
      quotaCollections: 100_000,
      quotaKeys: 1_000_000,
      quotaRecords: 0,
      quotaBytes: 0,
      bodyBytesPerTenant: 134_217_728,
      bodyBytes: 536_870_912,
      replyBytes: 2 ** 30,
      replyBytesPerTenant: 2 ** 30,
      replyBytesTotal: 4 * 2 ** 30,
      replySeconds: 3_600,
      receiverBytesPerSecond: 16_384,
      receiverSeconds: 30,
      slowRequestMs: 1_000,
      diskReserve: "10%",
      indexMemory: 3 * 2 ** 30,
      unsealedMemory: null,
      vectorMemory: null,
      purgeAfterMs: 7 * 86_400_000,
      index: { files: true },
      busyWait: true,
      backupFolder: null,
      archive: null,
      archiveKeepMs: 7 * 86_400_000,
      archiveFileBytes: 64 * 2 ** 20,
      shareStores: { records: 2_000, bytes: 4_194_304 },
      database: null,
      databaseUser: null,
      databasePassword: null,
      databasePasswordFile: null,
      databaseTls: null,
      databaseCa: null,
      nodeListen: null,
      nodeAdvertise: null,
      clusterSecret: null,
      clusterSecretFile: null,
      readReplicas: 2,
      localModels: true,
      ...{ objects: null, objectsEndpoint: null, objectsAnyEndpoint: null, objectsRegion: "us-east-1" },
      ...{ objectsKeyId: null, objectsSecretKey: null, objectsSecretKeyFile: null },
      ...{ objectsSessionToken: null, objectsPlaintextHost: null, objectsKeepMs: 604_800_000 },
      ...{ databaseConnections: 16, databaseWaiting: 1_000, databaseAppendAttempts: 64 },
      ...{
        databaseConnectMs: 3_000,
        databaseStatementMs: 10_000,
        databaseLockMs: 5_000,
        databaseRetryMs: 10_000,
      },
      ...{ databaseCheckpointBytes: 2 ** 26, databaseLogBytes: 2 ** 30 },
      metricsPort: null,
    });
  });

  it("takes the former name of the memory of indexes where the new one is not set", () => {
    const memory = (flags: object, environment = {}): number => readSettings(flags, environment).indexMemory;
    expect(memory({ indexMemory: "0.5" })).toBe(2 ** 29);
    expect(memory({ vectorMemory: "0.25" })).toBe(2 ** 28);
    expect(memory({}, { SHEAF_VECTOR_MEMORY: "4" })).toBe(2 ** 32);
    expect(memory({ vectorMemory: "4" }, { SHEAF_INDEX_MEMORY: "1" })).toBe(2 ** 30);
  });

  it("reads how indexes are kept in files", () => {
    const index = (text: string): object => readSettings({}, { SHEAF_INDEX_FILES: text }).index;
    expect([index("on"), index("off")]).toEqual([{ files: true }, { files: false }]);
    expect(index("indexer")).toEqual({ files: true, indexer: true });
    expect(index("32/128")).toMatchObject({ sizes: { sizes: { mutableRows: 32, sealedRows: 128 } } });
    expect(() => index("33/128")).toThrow("must be a multiple of 32");
    expect(() => index("sometimes")).toThrow("SHEAF_INDEX_FILES");
  });

  it("reads which collections share files", () => {
    const shared = (text: string): object | null =>
      readSettings({}, { SHEAF_SHARED_STORES: text }).shareStores;
    expect([shared("off"), shared("on"), shared("20/4096"), shared("20/4096/5")]).toEqual([
      null,
      { records: 2_000, bytes: 4_194_304 },
      { records: 20, bytes: 4_096 },
      { records: 20, bytes: 4_096, joinAfterMs: 5 },
    ]);
    for (const wrong of ["0/1", "sometimes", "20"])
      expect(() => shared(wrong), wrong).toThrow("SHEAF_SHARED_STORES");
  });

  it("reads in days when deleted records are gone", () => {
    const purgeAfter = (text: string): number | null =>
      readSettings({}, { SHEAF_PURGE_AFTER: text }).purgeAfterMs;
    expect([purgeAfter("0.5"), purgeAfter("30"), purgeAfter("off")]).toEqual([
      43_200_000,
      2_592_000_000,
      null,
    ]);
    for (const wrong of ["0", "-1", "7d", "0.000001", "4000", "never"])
      expect(() => purgeAfter(wrong), wrong).toThrow("SHEAF_PURGE_AFTER");
  });

  it("lets a flag win over the environment, and the environment over the default", () => {
    expect(readSettings({}, { SHEAF_PORT: "9000" }).port).toBe(9000);
    expect(readSettings({ port: "9001" }, { SHEAF_PORT: "9000" }).port).toBe(9001);
  });

  it("takes an empty variable for one that is not set", () => {
    const settings = readSettings({}, { SHEAF_ROOT_KEY: "", SHEAF_PORT: "" });
    expect(settings).toMatchObject({ rootKey: null, port: 8000 });
  });

  it.each([
    ["on", true],
    ["TRUE", true],
    ["1", true],
    ["yes", true],
    ["off", false],
    ["false", false],
    ["0", false],
    ["No", false],
  ])("reads the switch %s", (text, value) => {
    expect(readSettings({}, { SHEAF_ALLOW_RESET: text }).allowReset).toBe(value);
  });

  it.each([
    ["0", 0],
    ["33554432", 33_554_432],
    ["10%", "10%"],
    ["2.5%", "2.5%"],
  ])("reads what is kept free of the disk: %s", (text, value) => {
    expect(readSettings({ diskReserve: text }, {}).diskReserve).toBe(value);
  });

  it("reads origins", () => {
    const read = (text: string): readonly string[] =>
      readSettings({}, { SHEAF_CORS_ALLOW_ORIGINS: text }).corsAllowOrigins;
    expect(read("https://a.example, http://localhost:3000,")).toEqual([
      "https://a.example",
      "http://localhost:3000",
    ]);
    expect(read("*")).toEqual(["*"]);
  });

  it.each([
    ["port", "x", "--port"],
    ["port", "65536", "--port"],
    ["port", "-1", "--port"],
    ["port", "8e3", "--port"],
    ["dataFolder", "", "--data"],
    ["diskReserve", "-1", "--disk-reserve"],
    ["diskReserve", "100%", "--disk-reserve"],
    ["diskReserve", "1 GB", "--disk-reserve"],
    ["auth", "maybe", "--auth"],
    ["role", "searcher", "--role"],
    ["logLevel", "loud", "--log-level"],
    ["modelMemory", "lots", "--model-memory"],
    ["modelMemory", "0", "--model-memory"],
    ["autoPull", "maybe", "--auto-pull"],
    ["corsAllowOrigins", "a.example", "--cors-allow-origins"],
    ["corsAllowOrigins", "https://a.example/", "--cors-allow-origins"],
  ])("refuses %s = %s and names the flag", (name, text, flag) => {
    const flags: FlagTexts = { [name]: text };
    expect(() => readSettings(flags, {})).toThrow(SettingError);
    expect(() => readSettings(flags, {})).toThrow(flag);
  });

  it("names the variable where the value came from it", () => {
    expect(() => readSettings({}, { SHEAF_PORT: "x" })).toThrow(/^SHEAF_PORT: must be a port number/);
  });

  it.each([
    [15, false],
    [16, true],
    [512, true],
    [513, false],
  ])("root key of %i characters: %s", (length, accepted) => {
    const read = (): string | null => readSettings({}, { SHEAF_ROOT_KEY: "k".repeat(length) }).rootKey;
    if (accepted) expect(read()).toHaveLength(length);
    else expect(read).toThrow(SettingError);
  });

  it("reads the environment of the Hugging Face tools", () => {
    const settings = readSettings(
      { modelMemory: "2.5", pinnedModels: "BAAI/bge-m3, sheaf/bm25," },
      { HF_HOME: "~/hf", HF_ENDPOINT: "http://mirror:8080/", HF_TOKEN: "hf_abc", HF_HUB_OFFLINE: "1" },
    );
    expect(settings).toMatchObject({
      hfHome: join(homedir(), "hf"),
      hfEndpoint: "http://mirror:8080",
      hfToken: "hf_abc",
      hfOffline: true,
      modelMemory: 2_684_354_560,
      pinnedModels: ["BAAI/bge-m3", "sheaf/bm25"],
    });
    expect(() => readSettings({}, { HF_ENDPOINT: "huggingface.co" })).toThrow(/^HF_ENDPOINT: must be/);
    expect(() => readSettings({}, { HF_TOKEN: "se cret" })).toThrow("HF_TOKEN: must be printable ASCII");
  });

  it("keeps a refused root key out of the message", () => {
    const secret = "se\u0000cret-with-a-control-character";
    expect(() => readSettings({}, { SHEAF_ROOT_KEY: secret })).toThrow(
      "SHEAF_ROOT_KEY: must be 16 to 512 printable ASCII characters",
    );
  });

  it.each(["127.0.0.1", "127.9.8.7", "::1", "localhost"])("lets auth be off on %s", (host) => {
    expect(readSettings({ host, auth: "off" }, { SHEAF_ROOT_KEY: ROOT_KEY }).auth).toBe(false);
    expect(isLoopback(host)).toBe(true);
  });

  it.each(["0.0.0.0", "::", "192.168.1.4", "example.org", "127.0.0.1.example.org", ""])(
    "refuses auth off on %s",
    (host) => {
      expect(() => readSettings({ host, auth: "off" }, {})).toThrow(/loopback/);
    },
  );

  it("refuses pages of every origin while auth is off", () => {
    expect(() => readSettings({ auth: "off", corsAllowOrigins: "*" }, {})).toThrow(/web page/);
    expect(readSettings({ corsAllowOrigins: "*" }, {}).corsAllowOrigins).toEqual(["*"]);
  });

  it("refuses one port for two listeners", () => {
    expect(() => readSettings({ port: "9000", metricsPort: "9000" }, {})).toThrow(/^--metrics-port 9000/u);
    expect(() => readSettings({ port: "9000" }, { SHEAF_METRICS_PORT: "9000" })).toThrow(
      /^SHEAF_METRICS_PORT/u,
    );
    expect(readSettings({ port: "0", metricsPort: "0" }, {}).metricsPort).toBe(0);
  });

  it("refuses to pin a model that it does not know", () => {
    expect(() => readSettings({ pinnedModels: "sheaf/bm25,foo" }, {})).toThrow(/^--pin-models: .*"foo"/u);
  });

  it("reads host names without port, and networks", () => {
    const settings = readSettings({
      allowedHosts: "Sheaf.Example, ::1",
      trustedProxies: "10.0.0.0/8, fd00::/8,::1",
    });
    expect(settings.allowedHosts).toEqual(["sheaf.example", "::1"]);
    expect(settings.trustedProxies).toEqual(["10.0.0.0/8", "fd00::/8", "::1"]);
    for (const allowedHosts of ["a:80", "http://a", "a b", "*"]) {
      expect(() => readSettings({ allowedHosts }, {})).toThrow(/host name/);
    }
    for (const trustedProxies of ["10.0.0.0/33", "proxy", "10.0.0.0/", "10.0.0.0/8/8", "::/129"]) {
      expect(() => readSettings({ trustedProxies }, {})).toThrow(/network/);
    }
  });

  it("has no flag for a secret and a reason for every setting", () => {
    expect(SETTINGS.rootKey.flag).toBeNull();
    for (const { doc, env } of Object.values(SETTINGS)) {
      expect(doc).toMatch(/\.$/);
      expect(env).toMatch(/^(?:SHEAF_|HF_|PG|AWS_)/);
    }
  });
});
