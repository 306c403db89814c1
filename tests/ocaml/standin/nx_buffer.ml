(* SPDX-License-Identifier: ISC *)
(* Stands in for Nx's buffers, which are not in Debian: flat arrays of Bigarray, and element types
   that Bigarray has not. *)

type float16_elt = Float16_elt
type bfloat16_elt = Bfloat16_elt
type float8_e4m3_elt = E4m3_elt
type float8_e5m2_elt = E5m2_elt
type int4_elt = Int4_elt
type uint4_elt = Uint4_elt
type uint32_elt = Uint32_elt
type uint64_elt = Uint64_elt
type bool_elt = Bool_elt

type ('a, 'b) kind =
  | Float16 : (float, float16_elt) kind
  | Float32 : (float, Bigarray.float32_elt) kind
  | Float64 : (float, Bigarray.float64_elt) kind
  | BFloat16 : (float, bfloat16_elt) kind
  | Float8_e4m3 : (float, float8_e4m3_elt) kind
  | Float8_e5m2 : (float, float8_e5m2_elt) kind
  | Int4 : (int, int4_elt) kind
  | UInt4 : (int, uint4_elt) kind
  | Int8 : (int, Bigarray.int8_signed_elt) kind
  | UInt8 : (int, Bigarray.int8_unsigned_elt) kind
  | Int16 : (int, Bigarray.int16_signed_elt) kind
  | UInt16 : (int, Bigarray.int16_unsigned_elt) kind
  | Int32 : (int32, Bigarray.int32_elt) kind
  | UInt32 : (int32, uint32_elt) kind
  | Int64 : (int64, Bigarray.int64_elt) kind
  | UInt64 : (int64, uint64_elt) kind
  | Complex64 : (Complex.t, Bigarray.complex32_elt) kind
  | Complex128 : (Complex.t, Bigarray.complex64_elt) kind
  | Bool : (bool, bool_elt) kind

(* A bigarray in truth; which one, the mark in it says. *)
type ('a, 'b) t

type ('a, 'b) flat = ('a, 'b, Bigarray.c_layout) Bigarray.Array1.t

external mark : ('a, 'b) t -> int -> unit = "nx_buffer_standin_mark"
external code : ('a, 'b) t -> int = "nx_buffer_standin_kind"
external of_flat : ('c, 'd) flat -> ('a, 'b) t = "%identity"
external to_flat : ('a, 'b) t -> ('c, 'd) flat = "%identity"

(* OCaml has halves of its own from 5.2 on. *)
let half = Scanf.sscanf Sys.ocaml_version "%d.%d" (fun major minor -> if (major, minor) >= (5, 2) then 13 else 72)

(* In the order of the constructors: kinds of the runtime (caml/bigarray.h), and marks of
   nx_buffer_stubs.h. *)
let codes = [| half; 0; 1; 64; 68; 69; 66; 67; 2; 3; 4; 5; 6; 70; 7; 71; 10; 11; 65 |]
let number (kind : ('a, 'b) kind) : int = Obj.magic kind

let kind (buffer : ('a, 'b) t) : ('a, 'b) kind =
  let code = code buffer in
  let rec find i = if codes.(i) = code then i else find (i + 1) in
  Obj.magic (find 0)

let length buffer = Bigarray.Array1.dim (to_flat buffer)

let create (type a b) (kind : (a, b) kind) n : (a, b) t =
  let make flat = of_flat (Bigarray.Array1.create flat Bigarray.c_layout n) in
  let buffer : (a, b) t =
    match kind with
    | Float32 -> make Bigarray.Float32
    | Float64 -> make Bigarray.Float64
    | Int8 -> make Bigarray.Int8_signed
    | UInt8 -> make Bigarray.Int8_unsigned
    | Int16 -> make Bigarray.Int16_signed
    | UInt16 -> make Bigarray.Int16_unsigned
    | Int32 -> make Bigarray.Int32
    | UInt32 -> make Bigarray.Int32
    | Int64 -> make Bigarray.Int64
    | UInt64 -> make Bigarray.Int64
    | Complex64 -> make Bigarray.Complex32
    | Complex128 -> make Bigarray.Complex64
    | Float16 -> make Bigarray.Int16_unsigned
    | BFloat16 -> make Bigarray.Int16_unsigned
    | Float8_e4m3 -> make Bigarray.Int8_unsigned
    | Float8_e5m2 -> make Bigarray.Int8_unsigned
    | Int4 -> make Bigarray.Int8_unsigned
    | UInt4 -> make Bigarray.Int8_unsigned
    | Bool -> make Bigarray.Int8_unsigned
  in
  mark buffer codes.(number kind);
  buffer

let bytes buffer : (int, Bigarray.int8_unsigned_elt) flat = to_flat buffer
let words buffer : (int, Bigarray.int16_unsigned_elt) flat = to_flat buffer
let float_of_bfloat16 bits = Int32.float_of_bits (Int32.shift_left (Int32.of_int bits) 16)

let bfloat16_of_float x =
  let bits = Int32.to_int (Int32.bits_of_float x) land 0xFFFFFFFF in
  (bits + 0x7FFF + ((bits lsr 16) land 1)) lsr 16

(* Of the rare types those that the tests look at. *)
let get (type a b) (buffer : (a, b) t) i : a =
  match kind buffer with
  | Float32 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | Float64 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | Int8 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | UInt8 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | Int16 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | UInt16 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | Int32 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | UInt32 -> Bigarray.Array1.get (to_flat buffer : (a, Bigarray.int32_elt) flat) i
  | Int64 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | UInt64 -> Bigarray.Array1.get (to_flat buffer : (a, Bigarray.int64_elt) flat) i
  | Complex64 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | Complex128 -> Bigarray.Array1.get (to_flat buffer : (a, b) flat) i
  | BFloat16 -> float_of_bfloat16 (words buffer).{i}
  | Bool -> (bytes buffer).{i} <> 0
  | _ -> failwith "Nx_buffer.get: not needed"

let set (type a b) (buffer : (a, b) t) i (x : a) : unit =
  match kind buffer with
  | Float32 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | Float64 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | Int8 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | UInt8 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | Int16 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | UInt16 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | Int32 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | UInt32 -> Bigarray.Array1.set (to_flat buffer : (a, Bigarray.int32_elt) flat) i x
  | Int64 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | UInt64 -> Bigarray.Array1.set (to_flat buffer : (a, Bigarray.int64_elt) flat) i x
  | Complex64 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | Complex128 -> Bigarray.Array1.set (to_flat buffer : (a, b) flat) i x
  | BFloat16 -> (words buffer).{i} <- bfloat16_of_float x
  | Bool -> (bytes buffer).{i} <- (if x then 1 else 0)
  | _ -> failwith "Nx_buffer.set: not needed"
