/** The settings of an object store beside a database. Part of the table in `config.ts`. */
import type { HostedEngineOptions, ObjectStoreSettings } from "@sheaf/engine";
import type { Setting, Settings } from "../config.ts";
import { isLoopback } from "../is-loopback.ts";
import { parseDays } from "./parse-days.ts";
import { readSecretFile } from "./secret-file.ts";
import { SettingError } from "./setting-error.ts";

export interface ObjectSettings {
  /** `null`: each server makes the indexes that it needs. */
  readonly objects: ObjectPlace | null;
  /** The variables are those of the programs of AWS. */
  readonly objectsEndpoint: string | null;
  readonly objectsAnyEndpoint: string | null;
  readonly objectsRegion: string;
  readonly objectsKeyId: string | null;
  readonly objectsSecretKey: string | null;
  /** The secret key that the file holds. */
  readonly objectsSecretKeyFile: string | null;
  readonly objectsSessionToken: string | null;
  /** A host that may be asked without encryption. */
  readonly objectsPlaintextHost: string | null;
  readonly objectsKeepMs: number;
}

/** What a URL says. */
export interface ObjectPlace {
  readonly bucket: string;
  /** Empty, or it ends with a slash. */
  readonly prefix: string;
}

const text = (value: string): string => value;

export const OBJECT_SETTINGS: { readonly [name in keyof ObjectSettings]: Setting<ObjectSettings[name]> } = {
  objects: {
    env: "SHEAF_OBJECTS",
    flag: { name: "objects", operand: "url" },
    default: null,
    doc: "Experimental. Object store (S3 API) where the servers of one --database keep records, and find the index files that others have made: s3://bucket/prefix. Keys, region and endpoint come from the variables of AWS's own programs.",
    parse: parseBucket,
  },
  objectsEndpoint: {
    env: "AWS_ENDPOINT_URL_S3",
    flag: null,
    default: null,
    doc: "Where --objects, and backups in a bucket, are, such as https://minio.example.org:9000; by default that of AWS in the region. The bucket is the first part of the path.",
    parse: text,
  },
  objectsAnyEndpoint: {
    env: "AWS_ENDPOINT_URL",
    flag: null,
    default: null,
    doc: "Where --objects is, unless AWS_ENDPOINT_URL_S3 says so.",
    parse: text,
  },
  objectsRegion: {
    env: "AWS_REGION",
    flag: null,
    default: "us-east-1",
    doc: "Region of --objects, and of backups in a bucket.",
    parse: text,
  },
  objectsKeyId: {
    env: "AWS_ACCESS_KEY_ID",
    flag: null,
    default: null,
    doc: "Access key of --objects, and of backups in a bucket.",
    parse: text,
  },
  objectsSecretKey: {
    env: "AWS_SECRET_ACCESS_KEY",
    flag: null,
    default: null,
    doc: "Secret key of --objects, and of backups in a bucket.",
    parse: text,
  },
  objectsSecretKeyFile: {
    env: "SHEAF_OBJECTS_SECRET_KEY_FILE",
    flag: { name: "objects-secret-key-file", operand: "file" },
    default: null,
    doc: "File with the secret key of --objects, such as a secret that a container or systemd mounts. A line break at its end does not count.",
    parse: text,
  },
  objectsSessionToken: {
    env: "AWS_SESSION_TOKEN",
    flag: null,
    default: null,
    doc: "Session token of --objects. It is not renewed: the server has to be started again before it ends.",
    parse: text,
  },
  objectsPlaintextHost: {
    env: "SHEAF_OBJECTS_PLAINTEXT_HOST",
    flag: { name: "objects-plaintext-host", operand: "host" },
    default: null,
    doc: "The host of the endpoint of --objects, to say that it is meant to be asked without https although it is another machine. Index files and records then cross the network as they are.",
    parse: text,
  },
  objectsKeepMs: {
    env: "SHEAF_OBJECTS_KEEP",
    flag: { name: "objects-keep", operand: "days" },
    default: "7",
    doc: "How long files with records stay in --objects after the database has ceased to refer to them, in days; fractions are allowed (0.5). A backup of the database that is older cannot be restored. The same on all servers.",
    parse: parseDays,
  },
};

/** Nothing where there is none. Reads a file; throws a `SettingError`. */
export function objectsOf(settings: Settings): Pick<HostedEngineOptions, "objects"> {
  const { objects, database, objectsKeepMs: keepMs } = settings;
  if (objects === null) return {};
  if (database === null) throw new SettingError("--objects is of use beside --database only");
  return { objects: { ...objects, ...objectAccess(settings, "--objects"), publication: { keepMs } } };
}

/** What `s3://bucket/prefix` says, and the keys to it. Reads a file; throws a `SettingError`. */
export function bucketAt(url: string, settings: ObjectSettings): ObjectStoreSettings {
  return { ...parseBucket(url), ...objectAccess(settings, url) };
}

/** Where the bucket is, and the keys to it. Reads a file; throws a `SettingError`. @param what It is for. */
function objectAccess(
  settings: ObjectSettings,
  what: string,
): Omit<ObjectStoreSettings, "bucket" | "prefix"> {
  const { objectsRegion: region, objectsKeyId: accessKeyId, objectsSessionToken } = settings;
  const file = settings.objectsSecretKeyFile;
  const secretAccessKey = file === null ? settings.objectsSecretKey : readSecretFile(file);
  if (accessKeyId === null || secretAccessKey === null)
    throw new SettingError(
      `${what} needs AWS_ACCESS_KEY_ID, and AWS_SECRET_ACCESS_KEY or --objects-secret-key-file`,
    );
  const { objectsEndpoint, objectsAnyEndpoint } = settings;
  const endpoint = originOf(objectsEndpoint ?? objectsAnyEndpoint ?? `https://s3.${region}.amazonaws.com`);
  return {
    ...{ endpoint, region, accessKeyId, secretAccessKey },
    ...(objectsSessionToken !== null && { sessionToken: objectsSessionToken }),
    ...(!isEncrypted(endpoint, settings.objectsPlaintextHost) && { allowPlaintext: true }),
  };
}

function isEncrypted(endpoint: string, plaintextHost: string | null): boolean {
  const { protocol, hostname } = new URL(endpoint);
  const host = hostname.replace(/^\[|\]$/gu, "");
  if (protocol === "https:" || isLoopback(host)) return true;
  if (plaintextHost === host) return false;
  throw new SettingError(
    `the object store on ${host} must be asked over https, unless --objects-plaintext-host names it`,
  );
}

export function isBucket(place: string): boolean {
  return place.startsWith("s3://");
}

/** Throws a `SettingError`. */
export function parseBucket(url: string): ObjectPlace {
  const found =
    /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(?<prefix>[A-Za-z0-9/_.-]*))?$/u.exec(url);
  const { bucket, prefix = "" } = found?.groups ?? {};
  const parts = prefix.replace(/\/$/u, "").split("/");
  if (bucket === undefined || (prefix !== "" && parts.some((part) => part === "" || part === "..")))
    throw new SettingError("must be a URL such as s3://bucket/prefix");
  return { bucket, prefix: prefix === "" ? "" : `${parts.join("/")}/` };
}

/** Not when it is read: the variable may be meant for other programs. */
function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isPlain = parsed !== null && `${parsed.origin}/` === parsed.href;
  if (!isPlain || !/^https?:$/u.test(parsed.protocol))
    throw new SettingError(
      "AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, must be a URL of host and port, such as https://minio.example.org:9000",
    );
  return parsed.origin;
}
