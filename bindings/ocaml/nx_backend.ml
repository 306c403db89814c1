(* SPDX-License-Identifier: ISC *)
(* The engine of Nx's array library: Nx_core.Backend_intf.S of Nx 1.0.0~alpha3.

   Nx allocates each result and then asks for it to be filled ([~out]). Here an output that nobody
   has touched takes the recorded result as its storage, so nothing is allocated or assigned; any
   other one is assigned. *)

open Nx_core
include Nx_tensors

(* [result] is a new storage of the elements of [out] in C order. *)
let put out result =
  if Option.is_none out.store.base && out.view == out.store.whole then begin
    out.store.base <- Some result;
    out.handle <- Some result
  end
  else E.assign (h out) result

let from_host context buffer =
  from_host_as (Dtype.of_buffer_kind (Nx_buffer.kind buffer)) context buffer

(* ---- elementwise *)

let unary op ~out x = guard @@ fun () -> put out (E.unary op (h x))
let neg ~out x = unary Neg ~out x
let recip ~out x = unary Recip ~out x
let abs ~out x = unary Abs ~out x
let sqrt ~out x = unary Sqrt ~out x
let sign ~out x = unary Sign ~out x
let exp ~out x = unary Exp ~out x
let log ~out x = unary Log ~out x
let sin ~out x = unary Sin ~out x
let cos ~out x = unary Cos ~out x
let tan ~out x = unary Tan ~out x
let asin ~out x = unary Asin ~out x
let acos ~out x = unary Acos ~out x
let atan ~out x = unary Atan ~out x
let sinh ~out x = unary Sinh ~out x
let cosh ~out x = unary Cosh ~out x
let tanh ~out x = unary Tanh ~out x
let trunc ~out x = unary Trunc ~out x
let ceil ~out x = unary Ceil ~out x
let floor ~out x = unary Floor ~out x
let round ~out x = unary Round ~out x
let erf ~out x = unary Erf ~out x
let binary op ~out a b = guard @@ fun () -> put out (E.binary op (h a) (h b))
let add ~out a b = binary Add ~out a b
let sub ~out a b = binary Sub ~out a b
let mul ~out a b = binary Mul ~out a b
let div ~out a b = binary Div ~out a b
let mod_ ~out a b = binary Mod ~out a b
let pow ~out a b = binary Pow ~out a b
let atan2 ~out a b = binary Atan2 ~out a b
let max ~out a b = binary Max ~out a b
let min ~out a b = binary Min ~out a b
let xor ~out a b = binary Xor ~out a b
let or_ ~out a b = binary Or ~out a b
let and_ ~out a b = binary And ~out a b
let cmpeq ~out a b = binary Equal ~out a b
let cmpne ~out a b = binary Not_equal ~out a b
let cmplt ~out a b = binary Less ~out a b
let cmple ~out a b = binary Less_equal ~out a b
let threefry ~out key counter = binary Threefry ~out key counter

(* In the words of Nx's engine in C, which its tests ask for. *)
let matmul ~out a b =
  let last back shape = shape.(Array.length shape - back) in
  let k = last 1 (shape a) and rows = last 2 (shape b) in
  if k <> rows then
    Printf.ksprintf Stdlib.invalid_arg
      "dot: cannot contract %s (last axis: %d) to %s (axis %d: %d) (size %d≠%d)"
      (Shape.to_string (shape a)) k (Shape.to_string (shape b))
      (Array.length (shape b) - 2)
      rows k rows;
  binary Matmul ~out a b

let where ~out condition a b = guard @@ fun () -> put out (E.where (h condition) (h a) (h b))

let cast ~out x = guard @@ fun () -> put out (E.cast (h x) (kind out.dtype))

let reduce op ~out ~axes ~keepdims x =
  guard @@ fun () -> put out (E.reduce op (h x) ~axes ~keep:keepdims)

let reduce_sum ~out ~axes ~keepdims x = reduce Sum ~out ~axes ~keepdims x
let reduce_prod ~out ~axes ~keepdims x = reduce Prod ~out ~axes ~keepdims x
let reduce_max ~out ~axes ~keepdims x = reduce Maximum ~out ~axes ~keepdims x
let reduce_min ~out ~axes ~keepdims x = reduce Minimum ~out ~axes ~keepdims x
let argmax ~out ~axis ~keepdims x = guard @@ fun () -> put out (E.argmax (h x) ~axis ~keep:keepdims)
let argmin ~out ~axis ~keepdims x = guard @@ fun () -> put out (E.argmin (h x) ~axis ~keep:keepdims)

let associative_scan ~out ~axis ~op x =
  guard @@ fun () -> put out (E.scan (reduction op) (h x) ~axis)

let sort ~out ~axis ~descending x = guard @@ fun () -> put out (E.sort (h x) ~axis ~descending)
let argsort ~out ~axis ~descending x = guard @@ fun () -> put out (E.argsort (h x) ~axis ~descending)

(* ---- movement, by index *)

let cat ~out tensors ~axis =
  guard @@ fun () -> put out (E.cat (Array.of_list (List.map (fun t -> h t) tensors)) ~axis)

let gather ~out data indices ~axis = guard @@ fun () -> put out (E.gather (h data) (h indices) ~axis)

let scatter ?(mode = `Set) ?(unique_indices = false) template ~indices ~updates ~axis =
  scatter ~mode ~unique_indices template ~indices ~updates ~axis

(* ---- Fourier transforms *)

let into out t dtype tensor =
  match out with
  | Some out ->
      put out tensor;
      out
  | None -> result t dtype tensor

let fft ?out t ~axes = guard @@ fun () -> into out t t.dtype (E.fft (h t) ~axes ~inverse:false)
let ifft ?out t ~axes = guard @@ fun () -> into out t t.dtype (E.fft (h t) ~axes ~inverse:true)
let rfft ?out t ~dtype ~axes = guard @@ fun () -> into out t dtype (real_transform t dtype ~axes)
let irfft ?out ?s t ~dtype ~axes = guard @@ fun () -> into out t dtype (back_to_real ?s t dtype ~axes)

(* ---- linear algebra *)

(* Failures are those of Nx's engine in C, which its frontend documents and its tests ask for. *)
let numeric f =
  try f () with
  | E.Error { status = Not_positive_definite; _ } -> invalid_arg "cholesky: not positive-definite"
  | E.Error { status = Singular | No_convergence; sentence; _ } -> failwith sentence

let square t =
  let s = shape t in
  let n = Array.length s in
  if n < 2 || s.(n - 1) <> s.(n - 2) then failwith "eig: input must be square matrix"

let cholesky ~upper t = numeric @@ fun () -> cholesky ~upper t
let qr ~reduced t = numeric @@ fun () -> qr ~reduced t

(* The third is not conjugated: so Nx's engine in C has it, and its pinv counts on that, though the
   interface says otherwise. *)
let svd ~full_matrices t =
  numeric @@ fun () ->
  let u, s, vh = svd ~full_matrices t in
  if is_complex t.dtype then (u, s, guard @@ fun () -> result t t.dtype (E.unary Conj (h vh)))
  else (u, s, vh)

let eig ~vectors t =
  square t;
  numeric @@ fun () ->
  if not vectors then (eigvals t, None)
  else
    let values, columns = eig t in
    (values, Some columns)

let eigh ~vectors t =
  square t;
  numeric @@ fun () ->
  if not vectors then (eigvalsh t, None)
  else
    let values, columns = eigh t in
    (values, Some columns)

let triangular_solve ~upper ~transpose ~unit_diag a b =
  numeric @@ fun () -> triangular_solve ~upper ~transpose ~unit_diag a b
