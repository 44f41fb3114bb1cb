/** The settings of TLS. Part of the table in `config.ts`. The files are read where they are used, and again on SIGHUP. */
import type { Setting } from "../config.ts";

export interface TlsSettings {
  /** PEM file; `null`: plain HTTP. Both are set or none is. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
}

export const TLS_SETTINGS: { readonly [name in keyof TlsSettings]: Setting<TlsSettings[name]> } = {
  tlsCert: {
    env: "SHEAF_TLS_CERT",
    flag: { name: "tls-cert", operand: "file" },
    default: null,
    doc: "PEM file with the server's certificate, followed by those of its intermediate authorities. The server then speaks TLS only. SIGHUP has it read again, with the key.",
    parse: (text) => text,
  },
  tlsKey: {
    env: "SHEAF_TLS_KEY",
    flag: { name: "tls-key", operand: "file" },
    default: null,
    doc: "PEM file with the private key of --tls-cert, without a passphrase.",
    parse: (text) => text,
  },
};
