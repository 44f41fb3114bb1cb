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

export class ClusterSecret {
  readonly #key: Buffer;

  /** @param text At least `LEAST_SECRET_CHARACTERS`, chosen at random. */
  constructor(text: string) {
    if (text.length < LEAST_SECRET_CHARACTERS) throw new RangeError("the secret of the cluster is too short");
    this.#key = Buffer.from(hkdfSync("sha256", text, "", IDENTITY, KEY_BYTES));
  }

  /** Of the side that listens. */
  get listening(): TlsOptions {
    return { ...TLS, pskCallback: (_socket, identity) => (identity === IDENTITY ? this.#key : null) };
  }

  /** Of the side that connects. The other one has no certificate whose name could be checked: it has the key. */
  get connecting() {
    return {
      ...TLS,
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: this.#key, identity: IDENTITY }),
    };
  }
}

/** Only suites with a pre-shared key, so nobody is let in without it. */
const TLS = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  ecdhCurve: "X25519:P-256",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const;
