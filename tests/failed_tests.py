# SPDX-License-Identifier: ISC
"""Names the failed tests of the last meson test run of a build, with the end of their output.

Usage: failed_tests.py NAME BUILD_DIRECTORY; NAME is what the run is called in the lines printed.
"""

import json
import pathlib
import sys

GOOD = {"OK", "EXPECTEDFAIL", "SKIP"}
LAST_LINES = 30


def main():
    name, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    for line in (directory / "meson-logs" / "testlog.json").read_text().splitlines():
        test = json.loads(line)
        if test["result"] in GOOD:
            continue
        print(f"==== {name}: {test['name']}: {test['result']}, {test['duration']:.1f} s")
        printed = test.get("stdout", "") + test.get("stderr", "")
        print("\n".join(printed.splitlines()[-LAST_LINES:]))


main()
