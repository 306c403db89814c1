#!/bin/sh
# SPDX-License-Identifier: ISC
# Compiles nx_engine as a library of native code, and of bytecode for the toplevel, in a folder of its
# own, for the compilers write beside their sources.
# Usage: compile.sh OCAMLOPT OCAMLC FOLDER SOURCE...
#
# Who links with it finds libnx two folders above the library, here as in a prefix that was moved:
# ocamlopt puts the library's own folder for $CAMLORIGIN.
set -e
ocamlopt=$1 ocamlc=$2 folder=$3
shift 3
cp "$@" "$folder"
cd "$folder"
warnings='-w +a-4-9-40-41-42-44-45-48-70 -warn-error +a'
# shellcheck disable=SC2016
libraries='-cclib -lnx_ocaml -cclib -lnx -ccopt -L$CAMLORIGIN/../..'
# shellcheck disable=SC2086
{
  "$ocamlc" $warnings -g -bin-annot -c nx_engine.mli nx_engine.ml
  "$ocamlopt" $warnings -g -c nx_engine.ml
  "$ocamlc" -a -o nx_engine.cma nx_engine.cmo -dllib -lnx_ocaml $libraries
  "$ocamlopt" -a -o nx_engine.cmxa nx_engine.cmx $libraries
}
