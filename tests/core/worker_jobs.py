"""What workers of the tests do."""

import os
import signal
import struct
import threading
import time
from pathlib import Path


def obey(channel, mark=None):
    """Do what requests say, and answer with the request's text."""
    held = []
    for request in channel.requests():
        match bytes(request).decode("latin-1").split(":"):
            case ["abort"]:
                os.write(2, b"one line\nthe last words\n")
                os.abort()
            case ["exit", status]:
                os._exit(int(status))
            case ["hang"]:
                time.sleep(1000)
            case ["grow", megabytes]:
                held.append(b"x" * (int(megabytes) << 20))
                time.sleep(1000)
            case ["half"]:  # says that 1,000 bytes come, and sends 10
                channel.stream.sendall(struct.pack("!Q", 1000) + b"0123456789")
                time.sleep(1000)
            case ["deaf"]:
                channel.send(b"deaf")
                time.sleep(1000)
            case ["talk"]:
                os.write(1, b"to standard output\n")
            case ["half and die"]:
                channel.stream.sendall(struct.pack("!Q", 1000) + b"0123456789")
                os.kill(os.getpid(), signal.SIGSEGV)
        channel.send(request)
    if mark is not None:
        Path(mark).touch()


def prepare(mark):
    Path(mark).touch()
    return ""


def prepare_with_a_thread():
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    return ""


def prepare_in_vain():
    return "nothing is installed"


def prepare_forever():
    time.sleep(1000)
    return ""
