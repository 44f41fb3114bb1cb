/** Files that are left out of an import because they most likely are keys or hold some. */

const SECRETS =
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$|^(?:id_(?:rsa|dsa|ecdsa|ed25519)|credentials|secrets?|passwords?|htpasswd)(?:\.|$)|\.env$/iu;
/** Files of these kinds hold data and no prose: a page on tokens is a document, `token.json` is none. */
const DATA = /\.(?:json|jsonl|ndjson|ya?ml|toml|ini|cfg|conf|properties|xml|csv|txt)$/iu;
const SECRET_DATA =
  /(?:^|[-_. ])(?:service[-_]?account|adminsdk|credentials?|secrets?|passwords?|passwd|tokens?|api[-_]?keys?|private[-_]?keys?|keys?|vault)(?:[-_. ]|$)/iu;
const KEY_MARK = "PRIVATE KEY";
/** With the first line of the key, which examples in prose leave out. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----\s+(?:[\w-]{1,40}: [^\n]*\n\s*){0,5}[A-Za-z0-9+/=]{40}/u;
const BEFORE_MARK = 40;
const BEHIND_MARK = 1_000;

/** @param name Of a file, without its folder. */
export function isNamedAsSecret(name: string): boolean {
  return SECRETS.test(name) || (DATA.test(name) && SECRET_DATA.test(name));
}

/** Whether there is a private key in PEM or OpenPGP form. */
export function holdsPrivateKey(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(KEY_MARK); at >= 0; at = bytes.indexOf(KEY_MARK, at + 1)) {
    const around = bytes.subarray(Math.max(0, at - BEFORE_MARK), at + BEHIND_MARK).toString("latin1");
    if (PRIVATE_KEY.test(around)) return true;
  }
  return false;
}
