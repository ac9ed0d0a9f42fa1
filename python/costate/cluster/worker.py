"""python -m costate.cluster.worker: computes what its parent asks for, over standard input and output."""
import os
import pickle
import signal
import struct
import sys
import time

import costate
from costate.cluster import messages
from costate.cluster.processes import _identity
from costate.error import Error


def read(stream):
    head = stream.read(8)
    if len(head) < 8:
        return None
    return messages.read(stream.read(struct.unpack("<Q", head)[0]))


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not get between the messages
    message = read(questions)
    if message is None:
        return
    _, data, threads = message
    costate.set_thread_count(threads)
    try:
        job = pickle.loads(data)
    except Error as error:
        return messages.write(answers, ("error", str(error), error.what, error.where, error.advice, error.kind))
    except Exception as error:
        return messages.write(answers, ("error", f"a worker cannot read the job: {type(error).__name__}: {error}; define its functions in a "
                               "module that can be imported, not in the program itself"))
    messages.write(answers, ("hello", _identity(job)))
    theta, gradient = {}, True
    while (message := read(questions)) is not None:
        if message[0] == "theta":
            _, theta, gradient = message
            continue
        _, call, point, block = message
        began = time.monotonic()
        part = job.part(theta, block, gradient)
        messages.write(answers, ("part", call, point, block, part, time.monotonic() - began))


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        pass  # the driver has gone
