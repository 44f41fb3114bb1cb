/** Settings that cannot be used together. */
import { liesIn } from "@sheaf/engine";
import type { Settings } from "../config.ts";
import { isLoopback } from "../is-loopback.ts";
import { isBucket } from "./object-settings.ts";
import { SettingError } from "./setting-error.ts";

/** @param source How the user gave a setting: its flag or its variable. */
export function refuseConflicts(settings: Settings, source: (name: keyof Settings) => string): void {
  const { auth, host, port, metricsPort, corsAllowOrigins } = settings;
  if (!auth && !isLoopback(host)) {
    throw new SettingError(
      `auth can be off on a loopback address only, and ${source("host")} is ${host}: anyone who reaches it could read and remove everything`,
    );
  }
  if (!auth && corsAllowOrigins.includes("*")) {
    throw new SettingError(
      `auth cannot be off while ${source("corsAllowOrigins")} is *: every web page that is open in a browser of this machine could read and remove everything`,
    );
  }
  refuseTwice(settings, source);
  refuseBesideDatabase(settings, source);
  refuseLonelyNode(settings, source);
  refuseIdleIndexNode(settings, source);
  if ((settings.tlsCert === null) !== (settings.tlsKey === null)) {
    const [given, missing] =
      settings.tlsKey === null ? (["tlsCert", "tlsKey"] as const) : (["tlsKey", "tlsCert"] as const);
    throw new SettingError(
      `${source(given)} needs ${missing === "tlsKey" ? "--tls-key" : "--tls-cert"} beside it`,
    );
  }
  const { dataFolder } = settings;
  for (const name of ["backupFolder", "archive"] as const) {
    const folder = settings[name];
    if (folder === null || isBucket(folder) || !liesIn(folder, dataFolder)) continue;
    const what = name === "archive" ? "the archive" : "backups";
    throw new SettingError(
      `${source(name)} ${folder} lies in the data folder, where ${what} would be lost with it; choose another`,
    );
  }
  if (metricsPort !== null && metricsPort !== 0 && metricsPort === port) {
    throw new SettingError(
      `${source("metricsPort")} ${metricsPort} is the port of the server itself; choose another`,
    );
  }
}

/** What is in a data folder that may be lost, or that other servers do not see. */
function refuseBesideDatabase(settings: Settings, source: (name: keyof Settings) => string): void {
  const { database, auth, rootKey, rootKeyFile } = settings;
  if (database === null) return;
  for (const name of ["backupFolder", "archive"] as const) {
    if (settings[name] !== null)
      throw new SettingError(
        `${source(name)} does not go with ${source("database")}: backups and archives are those of the database and of the bucket of --objects`,
      );
  }
  if (auth && rootKey === null && rootKeyFile === null) {
    throw new SettingError(
      `${source("database")} needs a root key that all servers know: set SHEAF_ROOT_KEY or --root-key-file`,
    );
  }
}

/** What servers that call each other need. */
function refuseLonelyNode(settings: Settings, source: (name: keyof Settings) => string): void {
  const { role, nodeListen, nodeAdvertise, database, clusterSecret, clusterSecretFile } = settings;
  if (nodeAdvertise !== null && nodeListen === null)
    throw new SettingError(`${source("nodeAdvertise")} needs --node-listen beside it`);
  if (role !== "gateway" && nodeListen === null) return;
  const what = role === "gateway" ? "a gateway" : source("nodeListen");
  if (role === "gateway" && nodeListen !== null)
    throw new SettingError(`${source("nodeListen")}: a gateway is called by no other server`);
  if (database === null)
    throw new SettingError(`${what} needs --database, through which servers find each other`);
  if (clusterSecret === null && clusterSecretFile === null) {
    throw new SettingError(
      `${what} needs a secret that all servers of the cluster know: set SHEAF_CLUSTER_SECRET or --cluster-secret-file`,
    );
  }
}

/** What an index node needs, to have something to do and a place for it. */
function refuseIdleIndexNode(settings: Settings, source: (name: keyof Settings) => string): void {
  const { role, nodeListen, database, objects, index } = settings;
  if (role !== "index") return;
  if (nodeListen !== null)
    throw new SettingError(`${source("nodeListen")}: an index node is called by no other server`);
  if (database === null || objects === null)
    throw new SettingError(
      "an index node needs --database, where it finds its work, and --objects, where it brings what it makes",
    );
  if (index.files === false)
    throw new SettingError(`${source("index")}: an index node makes nothing but index files`);
}

/** A secret that is given as such and as a file: one of them would be ignored. */
function refuseTwice(settings: Settings, source: (name: keyof Settings) => string): void {
  const pairs = [
    ["rootKey", "rootKeyFile"],
    ["hfToken", "hfTokenFile"],
    ["databasePassword", "databasePasswordFile"],
    ["objectsSecretKey", "objectsSecretKeyFile"],
    ["clusterSecret", "clusterSecretFile"],
  ] as const;
  for (const [secret, file] of pairs) {
    if (settings[secret] !== null && settings[file] !== null)
      throw new SettingError(`${source(secret)} and ${source(file)} are both set; set one of them`);
  }
}
