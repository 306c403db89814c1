#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A text file as a C function that returns it: embed_text.py FILE FUNCTION HEADER OUTPUT. Remarks are left out."""
import re
import sys

source, function, header, output = sys.argv[1:]
with open(source, encoding='ascii') as f:
    text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
lines = [line.rstrip() for line in text.split('\n') if line.strip()]
quoted = ['  "' + line.replace('\\', '\\\\').replace('"', '\\"') + '\\n"' for line in lines]
with open(output, 'w', encoding='ascii') as f:
    f.write(f'/* SPDX-License-Identifier: ISC */\n#include "{header}"\n\n'
            f'const char *{function}(void) {{\n  return\n' + '\n'.join(quoted) + ';\n}\n')
