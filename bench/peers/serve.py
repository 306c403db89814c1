# SPDX-License-Identifier: ISC
"""Does named workloads on request, one line a request: the name of one with its arguments sets it
up ("ok" or "no" back), "run" does it ("ok" back), "go" does it without an answer, and "wait"
answers when everything that was started is done."""

import sys


def serve(workloads, wait=lambda: None):
    work = None
    for line in sys.stdin:
        words = line.split()
        if words == ["go"]:
            work()
        elif words == ["run"] or words == ["wait"]:
            if words == ["run"]:
                work()
            wait()
            print("ok", flush=True)
        elif words and words[0] in workloads:
            work = workloads[words[0]](*words[1:])
            print("ok" if work else "no", flush=True)
        else:
            print("no", flush=True)
