"""The process that keeps a sandbox alive: process 1 of a PID namespace, parent of every daemon.

When it ends, the kernel ends every process of the namespace: daemons, slurmstepds, jobs. So nothing outlives it,
however it died. It knows nothing of Slurm: it starts the programs it is told to start, through a Unix socket.
It is run as a script by itself (`python -I keeper.py SOCKET PIDFD NAMESPACE POINT…`), so it imports nothing of the
package.

Standard input is the pipe of the `start` that made it. Until that says "keep", its end (that is, the death of `start`)
ends the keeper too; afterwards the keeper stays until it is killed, or its owner has ended: the process behind the
descriptor PIDFD, where that is not "", or its socket is gone, as with a user's runtime directory at the end of the last
session: no `stop` would find the sandbox. Ending so, it unmounts each POINT in the machine's mount namespace, that of
the descriptor NAMESPACE: nobody else will.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path

REQUEST_LIMIT_BYTES = 1 << 20
LOOK_S = 5.0  # between two looks whether the directory is still there


def spawn(request: dict[str, object]) -> int:
    """Start one program: `argv`, `env`, `log` (appended to), in a session of its own. Returns its PID in this
    namespace.
    """
    argv, env = request["argv"], request["env"]
    assert isinstance(argv, list) and isinstance(env, dict)
    with open(str(request["log"]), "ab") as log, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        return subprocess.Popen(
            argv, env=env, cwd="/", stdin=nothing, stdout=log, stderr=log, start_new_session=True
        ).pid


def serve(listener: socket.socket) -> None:
    """Answer one request: a JSON object on one line, answered by {"pid": N} or {"error": text}."""
    connection, _ = listener.accept()
    with connection, contextlib.suppress(OSError):
        connection.settimeout(5)
        with connection.makefile("rwb") as stream:
            line = stream.readline(REQUEST_LIMIT_BYTES)
            try:
                answer: dict[str, object] = {"pid": spawn(json.loads(line))}
            except (OSError, ValueError, KeyError, AssertionError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            stream.write(json.dumps(answer).encode() + b"\n")


def reap() -> None:
    """Collect every child that ended, including inherited ones (process 1 inherits all orphans)."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def leave(namespace: str, points: list[str]) -> None:
    """End all other processes here, then unmount."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    if points:
        enter = ["nsenter", f"--mount=/proc/self/fd/{namespace}"]
        subprocess.run([*enter, "umount", "--lazy", *points], pass_fds=[int(namespace)], check=False)


def main(path: str, owner: str, namespace: str, *points: str) -> int:
    wakeup, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    early = Path(path + ".new")
    early.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    os.fchmod(listener.fileno(), 0o600)  # it starts programs; the umask of whoever started the sandbox may allow more
    listener.bind(str(early))
    listener.listen(16)
    early.replace(path)  # once it is there, it answers
    selector = selectors.DefaultSelector()
    selector.register(wakeup, selectors.EVENT_READ, "child")
    selector.register(listener, selectors.EVENT_READ, "request")
    selector.register(0, selectors.EVENT_READ, "starter")
    if owner:
        selector.register(int(owner), selectors.EVENT_READ, "owner")  # readable once that process has ended
    while True:
        events = selector.select(LOOK_S)
        if not os.path.lexists(path):
            leave(namespace, list(points))
            return 1
        for key, _ in events:
            if key.data == "child":
                os.read(wakeup, 4096)
                reap()
            elif key.data == "request":
                serve(listener)
            elif key.data == "starter" and os.read(0, 16).startswith(b"keep"):
                selector.unregister(0)
            else:
                leave(namespace, list(points))
                return 0 if key.data == "owner" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
