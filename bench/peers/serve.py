# SPDX-License-Identifier: ISC
"""Does named workloads on request, one line a request: the name of one with its arguments sets it
up ("ok" back; "no": it is not known; anything else: why it cannot be done), "run" does it ("ok"
back), "go" does it without an answer, "wait" answers when everything that was started is done,
"time N" does it N times and answers with the seconds of one, and "compare" with a file, the share
of elements that may differ, and types and shapes, answers "ok" or what differs."""

import sys
import time


def seconds(work, wait, count):
    begin = time.perf_counter()
    for _ in range(count):
        result = work()
    wait(result)
    return (time.perf_counter() - begin) / count


def one_line(error):
    return " ".join(str(error).split())[:300] or type(error).__name__


def answer(words, work, wait):
    if words[0] == "time":
        return repr(seconds(work, wait, int(words[1])))
    if words[0] == "compare":
        from operands import difference

        return difference(work(), words[1], float(words[2]), words[3:]) or "ok"
    if words[0] == "run":
        work()
    wait(None)
    return "ok"


def serve(workloads, wait=lambda result: None):
    """workloads: setup by name, or a function that is given the words."""
    work = None
    # What a library prints must not be taken for an answer.
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        words = line.split()
        if words == ["go"]:
            work()
            continue
        try:
            if words[0] in ("run", "wait", "time", "compare"):
                text = answer(words, work, wait)
            elif callable(workloads):
                work = workloads(words)
                text = "ok" if work else "no"
            elif words[0] in workloads:
                work = workloads[words[0]](*words[1:])
                text = "ok" if work else "no"
            else:
                text = "no"
        except Exception as error:  # a library may refuse for any reason; the next row is another
            text = one_line(error)
        print(text, file=out, flush=True)
