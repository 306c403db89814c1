#!/bin/sh
# SPDX-License-Identifier: ISC
# Compiles nx_engine as a library of native code, in a folder of its own, for ocamlopt writes beside
# its sources. Usage: compile.sh OCAMLOPT FOLDER SOURCE...
#
# Who links with it finds libnx two folders above the library, here as in a prefix that was moved:
# ocamlopt puts the library's own folder for $CAMLORIGIN.
set -e
ocamlopt=$1
folder=$2
shift 2
cp "$@" "$folder"
cd "$folder"
"$ocamlopt" -w +a-4-9-40-41-42-44-45-48-70 -warn-error +a -g -bin-annot -c nx_engine.mli nx_engine.ml
# shellcheck disable=SC2016
"$ocamlopt" -a -o nx_engine.cmxa nx_engine.cmx -cclib -lnx_ocaml -cclib -lnx \
  -ccopt '-L$CAMLORIGIN/../..'
