# SPDX-License-Identifier: ISC
"""What holds of every trace: the rules of the Trace Event Format, a name for each thread, and spans
of a thread that contain each other or lie apart."""

import json


def is_nested(spans):
    """Whether those of one thread are."""
    ends = []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        begin = round(e["ts"] * 1000)
        end = begin + round(e["dur"] * 1000)
        while ends and ends[-1] <= begin:
            ends.pop()
        if ends and end > ends[-1]:
            return False
        ends.append(end)
    return True


def threads(path):
    """The names of a file's tracks."""
    events = json.loads(path.read_text())["traceEvents"]
    return [e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"]


def spans(path):
    """Those of a file; AssertionError, if it breaks a rule."""
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["ph"] for e in events} <= {"M", "X"}
    assert all(isinstance(e[key], int) for e in events for key in ("pid", "tid"))
    assert all(e["args"]["name"] for e in events if e["ph"] == "M")
    named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    found = [e for e in events if e["ph"] == "X"]
    assert all(e["name"] and e["cat"] and e["ts"] >= 0 and e["dur"] >= 0 for e in found)
    assert {e["tid"] for e in found} <= named
    assert all(is_nested([e for e in found if e["tid"] == track]) for track in named)
    return found
