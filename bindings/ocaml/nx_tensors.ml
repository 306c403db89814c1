(* SPDX-License-Identifier: ISC *)
(* What the engines of Nx's two interfaces share (nx_backend.ml, nx_backend_results.ml): tensors,
   movement, and what both interfaces ask for in the same words.

   Shapes and strides are Nx's views; the library's handle of a view is made when an operation first
   needs it. *)

open Nx_core
module E = Nx_engine

type context = E.context

(* Storage, one for all views of it. [base] is none until something is written or read; [buffer] is
   the array that shows it to the host, held weakly, so that the storage is like any other again
   when the last array is gone. *)
type store = {
  mutable base : E.tensor option;
  mutable buffer : Obj.t Weak.t option;
  mutable seen : bool; (* there has been such an array *)
  whole : View.t;
}

type ('a, 'b) t = {
  view : View.t;
  dtype : ('a, 'b) Dtype.t;
  context : context;
  store : store;
  mutable handle : E.tensor option;
}

let view t = t.view
let dtype t = t.dtype
let context t = t.context
let shape t = View.shape t.view
let create_context () = E.default ()

(* ---- failures, as Nx raises them *)

(* Nx promises Invalid_argument of arguments. What it promises of factorisations differs; the rest
   passes as it is, with its status. *)
let translate = function
  | E.Error
      {
        status =
          ( Invalid_argument | Unsupported_dtype | Needs_copy | Index_out_of_range | Not_writable );
        sentence;
        _;
      } ->
      Stdlib.Invalid_argument sentence
  | E.Error { status = Out_of_memory; _ } -> Stdlib.Out_of_memory
  | other -> other

let guard f = try f () with E.Error _ as error -> raise (translate error)

(* ---- element types *)

let kind (type a b) (dtype : (a, b) Dtype.t) : E.dtype =
  match dtype with
  | Dtype.Float16 -> F16
  | Float32 -> F32
  | Float64 -> F64
  | BFloat16 -> Bf16
  | Float8_e4m3 -> F8e4m3
  | Float8_e5m2 -> F8e5m2
  | Int4 -> I4
  | UInt4 -> U4
  | Int8 -> I8
  | UInt8 -> U8
  | Int16 -> I16
  | UInt16 -> U16
  | Int32 -> I32
  | UInt32 -> U32
  | Int64 -> I64
  | UInt64 -> U64
  | Complex64 -> C64
  | Complex128 -> C128
  | Bool -> Bool

let number (type a b) (dtype : (a, b) Dtype.t) (x : a) : E.number =
  match dtype with
  | Dtype.Float16 -> Float x
  | Float32 -> Float x
  | Float64 -> Float x
  | BFloat16 -> Float x
  | Float8_e4m3 -> Float x
  | Float8_e5m2 -> Float x
  | Int4 -> Int (Int64.of_int x)
  | UInt4 -> Int (Int64.of_int x)
  | Int8 -> Int (Int64.of_int x)
  | UInt8 -> Int (Int64.of_int x)
  | Int16 -> Int (Int64.of_int x)
  | UInt16 -> Int (Int64.of_int x)
  | Int32 -> Int (Int64.of_int32 x)
  | UInt32 -> Int (Int64.of_int32 x)
  | Int64 -> Int x
  | UInt64 -> Int x
  | Complex64 -> Complex x
  | Complex128 -> Complex x
  | Bool -> Int (if x then 1L else 0L)

(* ---- tensors *)

let unwritten context dtype shape =
  let view = View.create shape in
  { view; dtype; context; handle = None; store = { base = None; buffer = None; seen = false; whole = view } }

(* A result of which the library has the shape in C order already. *)
let viewed context dtype view tensor =
  let handle = Some tensor in
  { view; dtype; context; handle; store = { base = handle; buffer = None; seen = false; whole = view } }

let fresh context dtype shape tensor = viewed context dtype (View.create shape) tensor

(* A result of t's shape; a view of a whole storage suits it. *)
let shaped t dtype tensor =
  viewed t.context dtype (if t.view == t.store.whole then t.view else View.create (shape t)) tensor

let base t =
  match t.store.base with
  | Some tensor -> tensor
  | None ->
      let tensor = E.empty t.context (kind t.dtype) (View.shape t.store.whole) in
      t.store.base <- Some tensor;
      tensor

let h t =
  match t.handle with
  | Some tensor -> tensor
  | None ->
      let tensor = base t in
      let handle =
        if t.view == t.store.whole then tensor
        else E.as_strided tensor (shape t) (View.strides t.view) (View.offset t.view)
      in
      t.handle <- Some handle;
      handle

let buffer context dtype shape = unwritten context dtype shape

let full context dtype shape value =
  guard @@ fun () ->
  fresh context dtype shape (E.full context (kind dtype) shape (number dtype value))

external buffer_of : E.tensor -> E.dtype -> ('a, 'b) Nx_buffer.t = "nx_ocaml_buffer"

external import_buffer :
  context -> int -> E.dtype -> int array * int array -> ('a, 'b) Nx_buffer.t -> E.tensor
  = "nx_ocaml_import"

(* The array is Nx's to write, so the storage is shared. *)
let from_host_as dtype context buffer =
  guard @@ fun () ->
  let shape = [| Nx_buffer.length buffer |] in
  let tensor = import_buffer context 1 (kind dtype) (shape, [||]) buffer in
  let t = fresh context dtype shape tensor in
  let shown = Weak.create 1 in
  Weak.set shown 0 (Some (Obj.repr buffer));
  t.store.buffer <- Some shown;
  t

(* Most tensors are read once, like a loss: a weak pointer, which the collector has work with, is made
   at the second time. Another array for the same memory costs little. *)
let to_host (type a b) (t : (a, b) t) : (a, b) Nx_buffer.t =
  let shown = match t.store.buffer with Some weak -> Weak.get weak 0 | None -> None in
  match shown with
  | Some buffer -> (Obj.obj buffer : (a, b) Nx_buffer.t)
  | None ->
      let buffer =
        try buffer_of (base t) (kind t.dtype) with E.Error _ as error -> raise (translate error)
      in
      if t.store.seen then begin
        let weak = match t.store.buffer with Some weak -> weak | None -> Weak.create 1 in
        Weak.set weak 0 (Some (Obj.repr buffer));
        t.store.buffer <- Some weak
      end;
      t.store.seen <- true;
      buffer

(* ---- movement: Nx's views, and its sentences when they cannot be *)

let moved t view = { t with view; handle = None }
let expand t shape = moved t (View.expand t.view shape)

let rec all_ones (shape : int array) i = shape.(i) = 1 && (i = 0 || all_ones shape (i - 1))

(* Reading an element ends here: one element is a scalar wherever it is, and needs no search. *)
let reshape t shape =
  let view = t.view in
  let old = View.shape view in
  let rank = Array.length old in
  if Array.length shape = 0 && rank > 0 && all_ones old (rank - 1) then
    moved t (View.create ~offset:(View.offset view) shape)
  else moved t (View.reshape view shape)

let permute t axes = moved t (View.permute t.view axes)
let flip t axes = moved t (View.flip t.view axes)
let copy t = guard @@ fun () -> fresh t.context t.dtype (shape t) (E.unary Copy_of (h t))

let contiguous t =
  if View.is_c_contiguous t.view && View.offset t.view = 0 then t else copy t

(* Whether all bounds are those of a part that has elements, and not of all; then [parts] are its
   extents, and the result is where it begins. -1 else. *)
let part_of view (bounds : (int * int) array) (parts : int array) =
  let shape = View.shape view and strides = View.strides view in
  let rec go i offset all =
    if i = Array.length parts then if all then -1 else offset
    else
      let start, stop = bounds.(i) in
      if start < 0 || start >= stop || stop > shape.(i) then -1
      else begin
        parts.(i) <- stop - start;
        go (i + 1) (offset + (start * strides.(i))) (all && stop - start = shape.(i))
      end
  in
  go 0 (View.offset view) true

(* Nx's view refuses a part without elements; one of the library does not care where it is. *)
let shrink t bounds =
  let n = Array.length bounds in
  let parts = Array.make n 0 in
  let offset = if n = Array.length (shape t) then part_of t.view bounds parts else -1 in
  if offset >= 0 then moved t (View.create ~offset ~strides:(View.strides t.view) parts)
  else if Array.for_all (fun (start, stop) -> start < stop) bounds then
    moved t (View.shrink t.view bounds)
  else buffer t.context t.dtype (Array.map (fun (start, stop) -> Stdlib.max 0 (stop - start)) bounds)

let pad t padding value =
  guard @@ fun () ->
  let shape = Array.mapi (fun i n -> n + fst padding.(i) + snd padding.(i)) (shape t) in
  fresh t.context t.dtype shape
    (E.pad (h t) (Array.map fst padding) (Array.map snd padding) (number t.dtype value))

let assign target source = guard @@ fun () -> E.assign (h target) (h source)

(* ---- by index, windows *)

let scatter ~mode ~unique_indices template ~indices ~updates ~axis =
  guard @@ fun () ->
  fresh template.context template.dtype (shape template)
    (E.scatter (h template) ~indices:(h indices) ~updates:(h updates) ~axis ~add:(mode = `Add)
       ~unique:unique_indices)

let window kernel stride dilation padding =
  { E.kernel; stride; dilation; before = Array.map fst padding; after = Array.map snd padding }

let unfold t ~kernel_size ~stride ~dilation ~padding =
  guard @@ fun () ->
  let result = E.unfold (h t) (window kernel_size stride dilation padding) in
  fresh t.context t.dtype (E.shape result) result

let fold t ~output_size ~kernel_size ~stride ~dilation ~padding =
  guard @@ fun () ->
  let result = E.fold (h t) output_size (window kernel_size stride dilation padding) in
  fresh t.context t.dtype (E.shape result) result

let reduction : _ -> E.reduction = function
  | `Sum -> Sum
  | `Prod -> Prod
  | `Max -> Maximum
  | `Min -> Minimum

(* ---- Fourier transforms: not divided by anything, as Nx scales them itself *)

let result t dtype tensor = fresh t.context dtype (E.shape tensor) tensor

(* The library takes the precision from the operand, Nx from an argument. *)
let as_dtype dtype tensor = if E.dtype tensor = dtype then tensor else E.cast tensor dtype

let real_transform t dtype ~axes =
  let x = if kind dtype = C128 then as_dtype F64 (h t) else h t in
  as_dtype (kind dtype) (E.rfft x ~axes)

(* Of the sizes the last one counts; along the others nothing is cut or appended. *)
let back_to_real ?s t dtype ~axes =
  let x = if kind dtype = F64 then as_dtype C128 (h t) else h t in
  let last = Array.length axes - 1 in
  let sizes =
    match s with
    | None -> [||]
    | Some s -> Array.mapi (fun i axis -> if i = last then s.(Array.length s - 1) else (shape t).(axis)) axes
  in
  as_dtype (kind dtype) (E.irfft x ~axes ~sizes)

(* ---- linear algebra: Nx raises in the call, so it computes *)

let computed t tensors = E.realize t.context tensors

let cholesky ~upper t =
  guard @@ fun () ->
  let r = E.cholesky (h t) ~upper in
  computed t [| r |];
  result t t.dtype r

let qr ~reduced t =
  guard @@ fun () ->
  let q, r = E.qr (h t) ~full:(not reduced) in
  computed t [| q; r |];
  (result t t.dtype q, result t t.dtype r)

let svd ~full_matrices t =
  guard @@ fun () ->
  let u, s, vh = E.svd (h t) ~full:full_matrices in
  computed t [| u; s; vh |];
  (result t t.dtype u, result t Dtype.Float64 s, result t t.dtype vh)

let eig t =
  guard @@ fun () ->
  let values, columns = E.eig (h t) in
  computed t [| values; columns |];
  (result t Dtype.Complex128 values, result t Dtype.Complex128 columns)

let eigvals t =
  guard @@ fun () ->
  let values = E.eigvals (h t) in
  computed t [| values |];
  result t Dtype.Complex128 values

let eigh t =
  guard @@ fun () ->
  let values, columns = E.eigh (h t) in
  computed t [| values; columns |];
  (result t Dtype.Float64 values, result t t.dtype columns)

let eigvalsh t =
  guard @@ fun () ->
  let values = E.eigvalsh (h t) in
  computed t [| values |];
  result t Dtype.Float64 values

let is_complex (type a b) (dtype : (a, b) Dtype.t) =
  match dtype with Dtype.Complex64 | Dtype.Complex128 -> true | _ -> false

(* A transposed complex matrix is a conjugated one for Nx. Right sides that are vectors have one axis
   less than the matrices. *)
let triangular_solve ~upper ~transpose ~unit_diag a b =
  guard @@ fun () ->
  let matrix = if transpose && is_complex a.dtype then E.unary Conj (h a) else h a in
  let vectors = Array.length (shape b) = Array.length (shape a) - 1 in
  let sides = if vectors then E.reshape (h b) (Array.append (shape b) [| 1 |]) else h b in
  let x = E.triangular_solve matrix sides ~upper ~transpose ~unit_diagonal:unit_diag in
  let x = if vectors then E.reshape x (shape b) else x in
  computed b [| x |];
  result b b.dtype x
