(* SPDX-License-Identifier: ISC *)
(** The library for OCaml: tensors that are recorded first and computed when somebody looks.

    This module needs nothing but OCaml; arrays of the host are those of [Bigarray].
    [Nx_backend] makes it the engine of the array library Nx. Operations record and
    return at once; [realize], [item], [read], [write], [map] and [Function.call]
    compute. These give up the runtime's lock, so other threads run meanwhile, and
    they run handlers of signals, so [Sys.Break] ends them. Every function may be
    called from any thread or domain. Shapes are int arrays, [[||]] for a scalar. *)

(** {1 Failures} *)

(** Why something failed, as in the C interface ([nx_status]). *)
type status =
  | Success | Invalid_argument | Unsupported_dtype | Needs_copy | Index_out_of_range
  | Not_positive_definite | Singular | No_convergence | Out_of_memory | Not_writable
  | Unbound | Donated | Interrupted | Device_unavailable | Device_lost | Compile_failed
  | Io | Parse | Internal | Timed_out

type failure = {
  status : status;
  operation : string;  (** ["cholesky"]; [""] if none is to blame *)
  sentence : string;  (** names the operation, the operand and the shapes *)
  place : int;  (** as given to [at] when the operation was recorded, else 0 *)
  place_text : string;
  index : int;  (** matrix of a batch, or first bad index; -1 if none *)
}

exception Error of failure
(** The one exception of this module, but for [Invalid_argument] of lists that cannot
    be meant, and for what a handler of a signal raises. *)

val at : int -> string -> unit
(** What [place] and [place_text] of failures of operations will be that this thread
    records from now on. *)

(** {1 Contexts} *)

type context

val create_context : ?threads:int -> ?memory_limit:int -> unit -> context
(** [threads] that an action may use, by default as many as the process may;
    [memory_limit] in bytes, by default none. *)

val default : unit -> context
(** One for the process, made when first asked for. *)

type stats = {
  pending : int;  (** operations that are recorded and not computed *)
  pending_bytes : int;  (** what they hold *)
  live_bytes : int;
  peak_bytes : int;
  kernels : int;  (** compiled so far *)
}

val stats : context -> stats

val collect : context -> unit
(** Frees what finalisers have left, bigarrays that were imported too. *)

val set_limits : ?operations:int -> ?bytes:int -> unit -> unit
(** Recording computes what waits when there are more such operations (10,000), or they
    hold more memory (256 MiB). A number that is not given is that default. *)

(** {1 Tensors} *)

type dtype =
  | Bool | I4 | U4 | I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64
  | F8e4m3 | F8e5m2 | F16 | Bf16 | F32 | F64 | C32 | C64 | C128

type number = Int of int64 | Float of float | Complex of Complex.t
(** Of a [U64] an [Int] has the bits. One that is given becomes an element as by a cast:
    of an [Int] the low bits count ([300] is 44 in [I8]), of a [Float] the integer towards
    0, or the nearest there is (and 0 of NaN), of a [Complex] that is to be real the real
    part; in [Bool] all but 0 is true. *)

type tensor

val shape : tensor -> int array
val strides : tensor -> int array
val dtype : tensor -> dtype

val bits : dtype -> int
(** Of one element. *)

type description = {
  offset : int;  (** in elements of the storage *)
  storage_elements : int;
  realized : bool;
  exposed : bool;  (** code of the host may write its memory at any time *)
}

val describe : tensor -> description
val empty : context -> dtype -> int array -> tensor
val full : context -> dtype -> int array -> number -> tensor

(** {1 Actions} *)

val realize : context -> tensor array -> unit
(** Computes these, together. *)

val item : tensor -> int array -> number
(** One element. *)

val to_float : number -> float
(** The real part of a complex number. *)

(** {1 Bigarrays} *)

type ('a, 'b) bigarray = ('a, 'b, Bigarray.c_layout) Bigarray.Genarray.t

type mode =
  | Copy  (** the elements are copied at once *)
  | Shared
      (** one memory: both see what either writes. What reads the tensor is computed
          when it is recorded, since the program may write the bigarray after that. *)
  | Frozen  (** one memory that nobody writes as long as the tensor lives: a promise *)
  | Owned
      (** one memory that the program does not touch any more: the tensor is like any
          other, and may overwrite it. *)

val dtype_of_kind : ('a, 'b) Bigarray.kind -> dtype

val of_bigarray : ?mode:mode -> context -> ('a, 'b) bigarray -> tensor
(** By default [Shared]. The tensor keeps the bigarray. *)

val import : mode -> context -> dtype -> int array -> ('a, 'b) bigarray -> tensor
(** The same of another dtype than the bigarray's kind, for those that [Bigarray] has
    not: the bytes are taken as elements of this shape. *)

val end_sharing : tensor -> unit
(** A [Shared] import is [Owned] from here on. *)

val read : ('a, 'b) Bigarray.kind -> tensor -> ('a, 'b) bigarray
(** A copy of the elements. The kind must be that of the dtype, or, where [Bigarray] has
    none, integers of the same width; else [Invalid_argument]. [Bigarray.Int] shows of
    [I64] the low 63 bits, as an [int] has no more: [Bigarray.Int64] shows all. *)

val write : tensor -> ('a, 'b) bigarray -> unit
(** Assigns the elements, and computes that. The shape may differ, not the number. *)

val map :
  ?writable:bool ->
  ('a, 'b) Bigarray.kind ->
  tensor ->
  ('a, 'b, Bigarray.c_layout) Bigarray.Array1.t
(** The memory of the whole storage, without a copy. The bigarray and its sub-arrays keep
    it; the tensor may be gone. While they live what reads the storage is computed when
    it is recorded, unless [writable] is [false] (it is [true] by default): then they
    must not be written. *)

(** {1 Operations} *)

type unary =
  | Neg | Recip | Abs | Sqrt | Sign | Exp | Log | Sin | Cos | Tan | Asin | Acos | Atan
  | Sinh | Cosh | Tanh | Trunc | Ceil | Floor | Round | Erf | Conj | Copy_of | Contiguous

type binary =
  | Add | Sub | Mul | Div | Mod | Pow | Atan2 | Max | Min | Xor | Or | And
  | Equal | Not_equal | Less | Less_equal | Threefry | Matmul

type reduction = Sum | Prod | Maximum | Minimum

val unary : unary -> tensor -> tensor
val binary : binary -> tensor -> tensor -> tensor
(** Shapes broadcast; dtypes are equal. *)

val where : tensor -> tensor -> tensor -> tensor
val cast : tensor -> dtype -> tensor
val reduce : reduction -> tensor -> axes:int array -> keep:bool -> tensor
val argmax : tensor -> axis:int -> keep:bool -> tensor
val argmin : tensor -> axis:int -> keep:bool -> tensor
val sort : tensor -> axis:int -> descending:bool -> tensor
val argsort : tensor -> axis:int -> descending:bool -> tensor
val scan : reduction -> tensor -> axis:int -> tensor

(** Views of the same storage; [reshape] copies where strides cannot express it. *)

val as_strided : tensor -> int array -> int array -> int -> tensor
(** Of the whole storage: shape, strides, offset. *)

val expand : tensor -> int array -> tensor
val reshape : tensor -> int array -> tensor
val permute : tensor -> int array -> tensor
val shrink : tensor -> int array -> int array -> tensor
val flip : tensor -> int array -> tensor

val pad : tensor -> int array -> int array -> number -> tensor
val cat : tensor array -> axis:int -> tensor

val assign : tensor -> tensor -> unit
(** [assign target source] writes through the view. Recorded, like all the rest; what was
    recorded before reads the old elements. *)

val gather : tensor -> tensor -> axis:int -> tensor

val scatter :
  tensor -> indices:tensor -> updates:tensor -> axis:int -> add:bool -> unique:bool -> tensor

type window = {
  kernel : int array;
  stride : int array;
  dilation : int array;
  before : int array;
  after : int array;
}

val unfold : tensor -> window -> tensor
val fold : tensor -> int array -> window -> tensor

val fft : tensor -> axes:int array -> inverse:bool -> tensor
(** Neither direction divides. *)

val rfft : tensor -> axes:int array -> tensor
val irfft : tensor -> axes:int array -> sizes:int array -> tensor
val cholesky : tensor -> upper:bool -> tensor
val qr : tensor -> full:bool -> tensor * tensor
val svd : tensor -> full:bool -> tensor * tensor * tensor
val eig : tensor -> tensor * tensor
val eigvals : tensor -> tensor
val eigh : tensor -> tensor * tensor
val eigvalsh : tensor -> tensor

val triangular_solve :
  tensor -> tensor -> upper:bool -> transpose:bool -> unit_diagonal:bool -> tensor

(** {1 Functions}

    A graph that is recorded once and called many times, without a cost for each of its
    operations. *)

module Function : sig
  type t

  val capture : context -> (dtype * int array) array -> (tensor array -> tensor array) -> t
  (** [capture context inputs body] runs [body] once on inputs without values. What it
      assigns to other tensors happens at each call. If it raises, nothing is captured. *)

  val call : t -> tensor array -> tensor array
  (** Computes, so not on inputs of a capture, nor on what depends on them ([Unbound]):
      within a [body] call what was captured, the function of OCaml. *)
end
