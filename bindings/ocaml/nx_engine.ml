(* SPDX-License-Identifier: ISC *)
(* The stubs behind names and types. Constructors without arguments are integers in C: their
   order is that of the tables there (handles.c, record.c). *)

type status =
  | Success | Invalid_argument | Unsupported_dtype | Needs_copy | Index_out_of_range
  | Not_positive_definite | Singular | No_convergence | Out_of_memory | Not_writable
  | Unbound | Donated | Interrupted | Device_unavailable | Device_lost | Compile_failed
  | Io | Parse | Internal | Timed_out

type failure = {
  status : status;
  operation : string;
  sentence : string;
  place : int;
  place_text : string;
  index : int;
}

exception Error of failure

type context
type tensor

type dtype =
  | Bool | I4 | U4 | I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64
  | F8e4m3 | F8e5m2 | F16 | Bf16 | F32 | F64 | C32 | C64 | C128

type number = Int of int64 | Float of float | Complex of Complex.t
type ('a, 'b) bigarray = ('a, 'b, Bigarray.c_layout) Bigarray.Genarray.t

external start : ('a, 'b) bigarray -> unit = "nx_ocaml_start"

let () =
  Callback.register_exception "nx.error"
    (Error { status = Internal; operation = ""; sentence = ""; place = 0; place_text = ""; index = -1 });
  Callback.register "nx.full_major" Gc.full_major;
  start (Bigarray.Genarray.create Bigarray.Char Bigarray.c_layout [| 1 |]);
  Printexc.register_printer (function
    | Error f when f.place_text <> "" -> Some (Printf.sprintf "nx: %s (%s)" f.sentence f.place_text)
    | Error f -> Some ("nx: " ^ f.sentence)
    | _ -> None)

external at : int -> string -> unit = "nx_ocaml_tag"

(* ---- contexts *)

external new_context : int -> int -> context = "nx_ocaml_context"

let create_context ?(threads = 0) ?(memory_limit = 0) () = new_context threads memory_limit

(* Two domains may both find none: the context of one is kept, that of the other is garbage. A lazy
   value would raise in the second. *)
let one : context option Atomic.t = Atomic.make None

let rec default () =
  match Atomic.get one with
  | Some context -> context
  | None ->
      ignore (Atomic.compare_and_set one None (Some (create_context ())));
      default ()

type stats = { pending : int; pending_bytes : int; live_bytes : int; peak_bytes : int; kernels : int }

external stats : context -> stats = "nx_ocaml_stats"
external collect : context -> unit = "nx_ocaml_collect"
external limits : int -> int -> unit = "nx_ocaml_set_limits"

let set_limits ?(operations = 10_000) ?(bytes = 256 lsl 20) () = limits operations bytes

(* ---- tensors *)

type description = { offset : int; storage_elements : int; realized : bool; exposed : bool }

external shape : tensor -> int array = "nx_ocaml_shape"
external strides : tensor -> int array = "nx_ocaml_strides"
external dtype : tensor -> dtype = "nx_ocaml_dtype_of"
external bits : dtype -> int = "nx_ocaml_bits"
external describe : tensor -> description = "nx_ocaml_describe"
external empty : context -> dtype -> int array -> tensor = "nx_ocaml_empty"
external full : context -> dtype -> int array -> number -> tensor = "nx_ocaml_full"
external realize : context -> tensor array -> unit = "nx_ocaml_realize"
external item : tensor -> int array -> number = "nx_ocaml_item"

let to_float = function Int i -> Int64.to_float i | Float f -> f | Complex c -> c.Complex.re

(* ---- bigarrays *)

type mode = Copy | Shared | Frozen | Owned

external import_as : context -> int -> dtype -> int array * int array -> ('a, 'b) bigarray -> tensor
  = "nx_ocaml_import"

external end_sharing : tensor -> unit = "nx_ocaml_end_sharing"
external read_into : tensor -> ('a, 'b) bigarray -> unit = "nx_ocaml_read"
external write_from : tensor -> ('a, 'b) bigarray -> unit = "nx_ocaml_write"

external map_like :
  tensor -> int -> ('a, 'b) bigarray -> int -> ('a, 'b, Bigarray.c_layout) Bigarray.Array1.t
  = "nx_ocaml_map_like"

(* The last row is for kinds of later versions of OCaml, which has Float16 since 5.2. *)
let dtype_of_kind (type a b) (kind : (a, b) Bigarray.kind) : dtype =
  match[@warning "-11"] kind with
  | Bigarray.Float32 -> F32
  | Bigarray.Float64 -> F64
  | Bigarray.Int8_signed -> I8
  | Bigarray.Int8_unsigned -> U8
  | Bigarray.Char -> U8
  | Bigarray.Int16_signed -> I16
  | Bigarray.Int16_unsigned -> U16
  | Bigarray.Int32 -> I32
  | Bigarray.Int64 -> I64
  | Bigarray.Int -> I64
  | Bigarray.Nativeint -> I64
  | Bigarray.Complex32 -> C64
  | Bigarray.Complex64 -> C128
  | _ -> F16

(* The dtypes that Bigarray has no kind for are seen as integers of their width. *)
let fits kind dtype =
  let own = dtype_of_kind kind in
  own = dtype
  ||
  match dtype with
  | Bool | F8e4m3 | F8e5m2 | I4 | U4 -> own = U8
  | F16 | Bf16 -> own = U16
  | U32 | C32 -> own = I32
  | U64 -> own = I64
  | _ -> false

let must_fit name kind dtype =
  if not (fits kind dtype) then
    invalid_arg (name ^ ": the kind of the bigarray is not that of the tensor's elements")

let import mode context dtype shape array =
  let number = match mode with Copy -> 0 | Shared | Owned -> 1 | Frozen -> 2 in
  let tensor = import_as context number dtype (shape, [||]) array in
  if mode = Owned then end_sharing tensor;
  tensor

let of_bigarray ?(mode = Shared) context array =
  let dtype = dtype_of_kind (Bigarray.Genarray.kind array) in
  import mode context dtype (Bigarray.Genarray.dims array) array

let four dtype = bits dtype = 4

let read kind tensor =
  let dtype = dtype tensor in
  must_fit "read" kind dtype;
  let shape = shape tensor in
  let shape =
    if four dtype then [| (Array.fold_left ( * ) 1 shape + 1) / 2 |]
    else if Array.length shape > 16 then [| Array.fold_left ( * ) 1 shape |]
    else shape
  in
  let array = Bigarray.Genarray.create kind Bigarray.c_layout shape in
  read_into tensor array;
  array

let write tensor array =
  must_fit "write" (Bigarray.Genarray.kind array) (dtype tensor);
  write_from tensor array

let map ?(writable = true) kind tensor =
  let dtype = dtype tensor in
  must_fit "map" kind dtype;
  let n = (describe tensor).storage_elements in
  let n = if four dtype then (n + 1) / 2 else n in
  let like = Bigarray.Genarray.create kind Bigarray.c_layout [| 0 |] in
  map_like tensor (if writable then 3 else 1) like n

(* ---- operations *)

type unary =
  | Neg | Recip | Abs | Sqrt | Sign | Exp | Log | Sin | Cos | Tan | Asin | Acos | Atan
  | Sinh | Cosh | Tanh | Trunc | Ceil | Floor | Round | Erf | Conj | Copy_of | Contiguous

type binary =
  | Add | Sub | Mul | Div | Mod | Pow | Atan2 | Max | Min | Xor | Or | And
  | Equal | Not_equal | Less | Less_equal | Threefry | Matmul

type reduction = Sum | Prod | Maximum | Minimum

type window = {
  kernel : int array;
  stride : int array;
  dilation : int array;
  before : int array;
  after : int array;
}

external unary : unary -> tensor -> tensor = "nx_ocaml_unary"
external binary : binary -> tensor -> tensor -> tensor = "nx_ocaml_binary"
external where : tensor -> tensor -> tensor -> tensor = "nx_ocaml_where"
external cast : tensor -> dtype -> tensor = "nx_ocaml_cast"
external reduce : reduction -> tensor -> axes:int array -> keep:bool -> tensor = "nx_ocaml_reduce"
external argmax : tensor -> axis:int -> keep:bool -> tensor = "nx_ocaml_argmax"
external argmin : tensor -> axis:int -> keep:bool -> tensor = "nx_ocaml_argmin"
external sort : tensor -> axis:int -> descending:bool -> tensor = "nx_ocaml_sort"
external argsort : tensor -> axis:int -> descending:bool -> tensor = "nx_ocaml_argsort"
external scan : reduction -> tensor -> axis:int -> tensor = "nx_ocaml_scan"
external as_strided : tensor -> int array -> int array -> int -> tensor = "nx_ocaml_as_strided"
external expand : tensor -> int array -> tensor = "nx_ocaml_expand"
external reshape : tensor -> int array -> tensor = "nx_ocaml_reshape"
external permute : tensor -> int array -> tensor = "nx_ocaml_permute"
external shrink : tensor -> int array -> int array -> tensor = "nx_ocaml_shrink"
external flip : tensor -> int array -> tensor = "nx_ocaml_flip"
external pad : tensor -> int array -> int array -> number -> tensor = "nx_ocaml_pad"
external cat : tensor array -> axis:int -> tensor = "nx_ocaml_cat"
external assign : tensor -> tensor -> unit = "nx_ocaml_assign"
external gather : tensor -> tensor -> axis:int -> tensor = "nx_ocaml_gather"
external scatter_how : tensor -> tensor -> tensor -> int -> int -> tensor = "nx_ocaml_scatter"
external unfold : tensor -> window -> tensor = "nx_ocaml_unfold"
external fold : tensor -> int array -> window -> tensor = "nx_ocaml_fold"
external fft : tensor -> axes:int array -> inverse:bool -> tensor = "nx_ocaml_fft"
external rfft : tensor -> axes:int array -> tensor = "nx_ocaml_rfft"
external irfft : tensor -> axes:int array -> sizes:int array -> tensor = "nx_ocaml_irfft"
external cholesky : tensor -> upper:bool -> tensor = "nx_ocaml_cholesky"
external two_of_qr : tensor -> bool -> tensor array = "nx_ocaml_qr"
external three_of_svd : tensor -> bool -> tensor array = "nx_ocaml_svd"
external two_of_eig : tensor -> tensor array = "nx_ocaml_eig"
external two_of_eigh : tensor -> tensor array = "nx_ocaml_eigh"
external eigvals : tensor -> tensor = "nx_ocaml_eigvals"
external eigvalsh : tensor -> tensor = "nx_ocaml_eigvalsh"
external solve_flags : tensor -> tensor -> int -> tensor = "nx_ocaml_triangular_solve"

let bit condition value = if condition then value else 0

let scatter x ~indices ~updates ~axis ~add ~unique =
  scatter_how x indices updates axis (bit add 1 lor bit unique 2)

let qr x ~full = let r = two_of_qr x full in (r.(0), r.(1))
let svd x ~full = let r = three_of_svd x full in (r.(0), r.(1), r.(2))
let eig x = let r = two_of_eig x in (r.(0), r.(1))
let eigh x = let r = two_of_eigh x in (r.(0), r.(1))

let triangular_solve a b ~upper ~transpose ~unit_diagonal =
  solve_flags a b (bit upper 1 lor bit transpose 2 lor bit unit_diagonal 4)

(* ---- functions *)

module Function = struct
  type handle
  type t = { context : context; handle : handle }

  external placeholder : context -> dtype -> int array -> tensor = "nx_ocaml_placeholder"
  external make : context -> tensor array -> tensor array -> handle = "nx_ocaml_function"
  external capture_end : context -> unit = "nx_ocaml_capture_end"
  external call_with : context -> handle -> tensor array -> tensor array = "nx_ocaml_call"

  (* Every way out ends the capture: the collector would keep placeholders, and with them the
     capture, for who knows how long. *)
  let capture context inputs body =
    try
      let x = Array.map (fun (dtype, shape) -> placeholder context dtype shape) inputs in
      { context; handle = make context x (body x) }
    with failure ->
      capture_end context;
      raise failure

  let no_value =
    "call: an argument depends on an input of a capture, which has no value; within a capture call \
     the function of OCaml that was captured"

  let call f inputs =
    try call_with f.context f.handle inputs
    with Error ({ status = Unbound; _ } as failure) ->
      raise (Error { failure with operation = "call"; sentence = no_value })
end
