/**
 * What the servers of a cluster prove to each other that they know, and how. The connection is TLS 1.2 with a pre-shared key and
 * an ephemeral key exchange (ECDHE-PSK, RFC 5489), for both sides: who does not know the secret gets no byte of the application and
 * sends none, what passes is encrypted on every network, and a secret that leaks later opens nothing that was recorded.
 *
 * TLS 1.3 is left out on purpose: there a server may answer an offered key with a certificate instead.
 */
import { constants, hkdfSync } from "node:crypto";
import type { TlsOptions } from "node:tls";

/** A key that can be guessed could be searched for in a recorded handshake. */
export const LEAST_SECRET_CHARACTERS = 32;

/** Raised where what is said over the connection changes so that the one before cannot follow. */
const IDENTITY = "sheaf-cluster-1";
const KEY_BYTES = 32;
/** Tells two secrets apart, and says too little of one to search for it. */
const MARK_BYTES = 2;

interface SharedKey {
  readonly psk: Buffer;
  /** Of the secret, for everybody to see. */
  readonly mark: string;
}

/** One secret, or two while a cluster goes over from one to the other. */
export class ClusterSecret {
  readonly #keys: readonly SharedKey[];

  /** @param texts Each at least `LEAST_SECRET_CHARACTERS`, chosen at random. */
  constructor(...texts: readonly string[]) {
    if (texts.length === 0 || texts.some(({ length }) => length < LEAST_SECRET_CHARACTERS))
      throw new RangeError("the secret of the cluster is too short");
    this.#keys = texts.map(keyOf);
    if (new Set(this.#keys.map(({ mark }) => mark)).size < texts.length)
      throw new RangeError("the secrets of the cluster cannot be told apart");
  }

  /**
   * Of the side that listens, which takes each of its keys and says by their marks which these are.
   *
   * @param cluster Id of the cluster that it is of, which it says, too.
   */
  listening(cluster?: string): TlsOptions {
    const marks = this.#keys.map(({ mark }) => mark).join();
    return {
      ...TLS,
      pskIdentityHint: [IDENTITY, marks, ...(cluster === undefined ? [] : [cluster])].join("/"),
      pskCallback: (_socket, identity) =>
        this.#keys.find((key, i) => identity === nameOf(key) || (i === 0 && identity === IDENTITY))?.psk ??
        null,
    };
  }

  /** Of one connection, on the side that makes it. The other one has no certificate whose name could be checked: it has the key. */
  connecting() {
    let said: string | undefined;
    const options = {
      ...TLS,
      checkServerIdentity: () => undefined,
      pskCallback: (hint: string | null) => {
        const [, list, cluster] = hint?.split("/") ?? [];
        said = cluster;
        const marks = list?.split(",");
        const key = this.#keys.find(({ mark }) => marks?.includes(mark)) ?? this.#keys[0]!;
        // A server of an earlier version says nothing, and knows no marks.
        return { psk: key.psk, identity: marks === undefined ? IDENTITY : nameOf(key) };
      },
    };
    /** Of the other side, once both have shown that they know the key; `undefined`: it is of an earlier version. */
    return { options, cluster: () => said };
  }
}

function keyOf(text: string): SharedKey {
  const derived = (info: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync("sha256", text, "", info, bytes));
  return { psk: derived(IDENTITY, KEY_BYTES), mark: derived(`${IDENTITY}/mark`, MARK_BYTES).toString("hex") };
}

function nameOf({ mark }: SharedKey): string {
  return `${IDENTITY}/${mark}`;
}

/** Only suites with a pre-shared key, so nobody is let in without it. */
const TLS = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  ecdhCurve: "X25519:P-256",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const;
