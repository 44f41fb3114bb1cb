"""A program in a pseudo-terminal: its screen as lines of text, and keys for it."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ROWS, COLUMNS = 40, 160
SECONDS = 30
# A control sequence, another escape, or a character.
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[^\[]|([\s\S])")


class Terminal:
    """What the program draws by moving the cursor, clearing and printing; colours are left out."""

    def __init__(self, program, *arguments, environment):
        self._cells = [[" "] * COLUMNS for _ in range(ROWS)]
        self._row = self._column = 0
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execve(program, [program, *arguments], {**environment, "TERM": "xterm-256color"})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    @property
    def screen(self):
        return "\n".join("".join(row).rstrip() for row in self._cells)

    def press(self, *keys):
        for key in keys:
            os.write(self._fd, key.encode())
            self._read(0.1)

    def until(self, text):
        self._until(lambda: text in self.screen, f"no {text!r}")

    def until_gone(self, text):
        self._until(lambda: text not in self.screen, f"still {text!r}")

    def _until(self, condition, problem):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"{problem} on\n{self.screen}"
            assert self._read(0.2) or condition(), f"{problem}, and it has ended:\n{self.screen}"

    def close(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)

    def _read(self, seconds):
        """False once the program has ended."""
        while select.select([self._fd], [], [], seconds)[0]:
            try:
                self._draw(self._decoder.decode(os.read(self._fd, 65_536)))
            except OSError:
                return False
            seconds = 0
        return True

    def _draw(self, text):
        text, self._rest = self._rest + text, ""
        for found in TOKEN.finditer(text):
            parameters, command, character = found.groups()
            if character == "\x1b":
                # The rest of a sequence is still on its way.
                self._rest = text[found.start() :]
                return
            if command == "H":
                row, column = (int(part or 1) for part in (parameters + ";").split(";")[:2])
                self._row, self._column = row - 1, column - 1
            elif command == "J":
                self._cells = [[" "] * COLUMNS for _ in range(ROWS)]
            elif character == "\r":
                self._column = 0
            elif character == "\n":
                self._row += 1
            elif character is not None and self._row < ROWS and self._column < COLUMNS:
                self._cells[self._row][self._column] = character
                self._column += 1
