#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Text files, one after the other, as a C function that returns them: embed_text.py FILE..
FUNCTION HEADER OUTPUT. Remarks are left out."""

import re
import sys

*sources, function, header, output = sys.argv[1:]
text = ""
for source in sources:
    with open(source, encoding="ascii") as f:
        text += re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
lines = [line.rstrip() for line in text.split("\n") if line.strip()]
# As numbers: a literal of this length is beyond what C promises.
codes = [str(ord(c)) for line in lines for c in line + "\n"] + ["0"]
rows = ["    " + ", ".join(codes[i : i + 24]) + "," for i in range(0, len(codes), 24)]
with open(output, "w", encoding="ascii") as f:
    f.write(
        f'/* SPDX-License-Identifier: ISC */\n#include "{header}"\n\n'
        f"const char *{function}(void) {{\n  static const char text[] = {{\n"
        + "\n".join(rows)
        + "\n  };\n  return text;\n}\n"
    )
