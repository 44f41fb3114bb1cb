/**
 * Runs a program for which the kernel locks no files, as on file systems that cannot: a filter of system calls (seccomp) answers
 * each attempt with an error, and lets all else through.
 */
import { execFile } from "node:child_process";
import { constants } from "node:os";

/** Numbers of `fcntl` by architecture. */
const FCNTL: Readonly<Record<string, number>> = { x64: 72, arm64: 25 };
/** Locks of open files: `F_OFD_GETLK`, `F_OFD_SETLK` and `F_OFD_SETLKW` of Linux. */
const FIRST_LOCK = 36;
const LAST_LOCK = 38;
/** Installs the filter and becomes the program. Node has no call for it; Python reaches any function of libc. */
const SCRIPT = `
import ctypes, os, struct, sys
fcntl, first, last, error = map(int, sys.argv[1:5])
load, equal, above, answer = 0x20, 0x15, 0x25, 0x06
allow, refuse = 0x7fff0000, 0x00050000 | error
steps = [
    (load, 0, 0, 0), (equal, 0, 4, fcntl),
    (load, 0, 0, 24), (above, 2, 0, last), (above, 0, 1, first - 1),
    (answer, 0, 0, refuse), (answer, 0, 0, allow),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[5], sys.argv[5:])
`;

export interface EndedProgram {
  readonly code: number;
  readonly errors: string;
}

/** @param error What an attempt to lock is answered with. */
export function runWithoutLocks(
  error: "ENOLCK" | "EOPNOTSUPP" | "ENOSYS",
  program: readonly string[],
): Promise<EndedProgram> {
  const numbers = [FCNTL[process.arch]!, FIRST_LOCK, LAST_LOCK, constants.errno[error]].map(String);
  return new Promise((resolve) => {
    execFile("python3", ["-c", SCRIPT, ...numbers, ...program], (failure, _out, errors) => {
      const code = typeof failure?.code === "number" ? failure.code : failure === null ? 0 : -1;
      resolve({ code, errors });
    });
  });
}
