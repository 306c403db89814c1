#!/bin/sh
# SPDX-License-Identifier: ISC
# Compiles a program of OCaml in a folder of its own and links it with the library of the build.
# Usage: link.sh OCAMLOPT COMPILER ENGINE_FOLDER LIBRARY_FOLDER PROGRAM FOLDER SOURCE...; sources
# in C are the objects or archives that have been made of them.
set -e
ocamlopt=$1 compiler=$2 engine=$3 library=$4 program=$5 folder=$6
shift 6
mkdir -p "$folder"
program=$PWD/$program engine=$PWD/$engine library=$PWD/$library
units=
for source in "$@"; do
  case $source in
  *.ml) cp "$source" "$folder"; units="$units $(basename "$source")" ;;
  *) units="$units -ccopt -L$PWD/$(dirname "$source") $PWD/$source" ;;
  esac
done
cd "$folder"
# shellcheck disable=SC2086
exec "$ocamlopt" -cc "$compiler" -w +a-4-9-26-27-32..42-44-45-48-70 -warn-error +a -g -thread \
  -I +unix -I +threads -I "$engine" unix.cmxa threads.cmxa nx_engine.cmxa $units -o "$program" \
  -ccopt "-L$engine" -ccopt "-L$library" -ccopt "-Wl,-rpath,$library"
