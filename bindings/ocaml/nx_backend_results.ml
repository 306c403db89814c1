(* SPDX-License-Identifier: ISC *)
(* The engine of Nx's array library: Nx_core.Backend_intf.S as it is after 1.0.0~alpha3, where
   operations return their results and take no outputs. *)

open Nx_core
include Nx_tensors

let like t tensor = shaped t t.dtype tensor

let from_host context buffer = from_host_as (Nx_buffer.kind buffer) context buffer

(* ---- elementwise *)

let unary op x = try like x (E.unary op (h x)) with E.Error _ as error -> raise (translate error)
let neg x = unary Neg x
let recip x = unary Recip x
let abs x = unary Abs x
let sqrt x = unary Sqrt x
let sign x = unary Sign x
let exp x = unary Exp x
let log x = unary Log x
let sin x = unary Sin x
let cos x = unary Cos x
let tan x = unary Tan x
let asin x = unary Asin x
let acos x = unary Acos x
let atan x = unary Atan x
let sinh x = unary Sinh x
let cosh x = unary Cosh x
let tanh x = unary Tanh x
let trunc x = unary Trunc x
let ceil x = unary Ceil x
let floor x = unary Floor x
let round x = unary Round x
let erf x = unary Erf x

let binary op a b =
  try like a (E.binary op (h a) (h b)) with E.Error _ as error -> raise (translate error)

let add a b = binary Add a b
let sub a b = binary Sub a b
let mul a b = binary Mul a b
let fdiv a b = binary Div a b
let idiv a b = binary Div a b
let mod_ a b = binary Mod a b
let pow a b = binary Pow a b
let atan2 a b = binary Atan2 a b
let max a b = binary Max a b
let min a b = binary Min a b
let xor a b = binary Xor a b
let or_ a b = binary Or a b
let and_ a b = binary And a b

let compare op a b =
  guard @@ fun () -> fresh a.context Dtype.Bool (shape a) (E.binary op (h a) (h b))

let cmpeq a b = compare Equal a b
let cmpne a b = compare Not_equal a b

(* The library orders complex numbers, by their real parts first; Nx does not. *)
let order op a b =
  if is_complex a.dtype then Stdlib.invalid_arg "complex numbers have no order";
  compare op a b

let cmplt a b = order Less a b
let cmple a b = order Less_equal a b
let where condition a b = guard @@ fun () -> like a (E.where (h condition) (h a) (h b))
let cast ~dtype x = guard @@ fun () -> fresh x.context dtype (shape x) (E.cast (h x) (kind dtype))
let threefry key counter = guard @@ fun () -> like counter (E.binary Threefry (h key) (h counter))
let matmul a b = guard @@ fun () -> result a a.dtype (E.binary Matmul (h a) (h b))

(* ---- along axes *)

let reduce ~op ~axes x =
  guard @@ fun () -> result x x.dtype (E.reduce (reduction op) (h x) ~axes ~keep:false)

let argmax ~axis ~keepdims x =
  guard @@ fun () -> result x Dtype.Int32 (E.argmax (h x) ~axis ~keep:keepdims)

let argmin ~axis ~keepdims x =
  guard @@ fun () -> result x Dtype.Int32 (E.argmin (h x) ~axis ~keep:keepdims)

let associative_scan ~axis ~op x = guard @@ fun () -> like x (E.scan (reduction op) (h x) ~axis)
let sort ~axis ~descending x = guard @@ fun () -> like x (E.sort (h x) ~axis ~descending)

let argsort ~axis ~descending x =
  guard @@ fun () -> fresh x.context Dtype.Int32 (shape x) (E.argsort (h x) ~axis ~descending)

let cat tensors ~axis =
  match tensors with
  | [] -> invalid_arg "cat: no tensors"
  | first :: _ ->
      guard @@ fun () ->
      result first first.dtype (E.cat (Array.of_list (List.map (fun t -> h t) tensors)) ~axis)

let gather data indices ~axis =
  guard @@ fun () -> result data data.dtype (E.gather (h data) (h indices) ~axis)

(* ---- Fourier transforms *)

let fft t ~axes = guard @@ fun () -> like t (E.fft (h t) ~axes ~inverse:false)
let ifft t ~axes = guard @@ fun () -> like t (E.fft (h t) ~axes ~inverse:true)
let rfft t ~dtype ~axes = guard @@ fun () -> result t dtype (real_transform t dtype ~axes)
let irfft ?s t ~dtype ~axes = guard @@ fun () -> result t dtype (back_to_real ?s t dtype ~axes)

(* ---- linear algebra *)

(* An exception of the interface's own is what it promises. *)
let numeric op f =
  let failed kind = raise (Backend_intf.Linalg_error { op; kind }) in
  try f () with
  | E.Error { status = Not_positive_definite; _ } -> failed `Not_positive_definite
  | E.Error { status = Singular; _ } -> failed `Singular
  | E.Error { status = No_convergence; _ } -> failed `No_convergence

let cholesky ~upper t = numeric "cholesky" @@ fun () -> cholesky ~upper t
let qr ~reduced t = numeric "qr" @@ fun () -> qr ~reduced t
let svd ~full_matrices t = numeric "svd" @@ fun () -> svd ~full_matrices t
let eig t = numeric "eig" @@ fun () -> eig t
let eigvals t = numeric "eigvals" @@ fun () -> eigvals t
let eigh t = numeric "eigh" @@ fun () -> eigh t
let eigvalsh t = numeric "eigvalsh" @@ fun () -> eigvalsh t

let triangular_solve ~upper ~transpose ~unit_diag a b =
  numeric "triangular_solve" @@ fun () -> triangular_solve ~upper ~transpose ~unit_diag a b
