(* SPDX-License-Identifier: ISC *)
(* The engine that returns results, as one that fills outputs: so one test serves both. *)

open Nx_core
module R : Backend_intf.Results = Nx_backend_results
include R

let unary f ~out x = assign out (f x)
let binary f ~out a b = assign out (f a b)
let neg ~out x = unary neg ~out x
let recip ~out x = unary recip ~out x
let abs ~out x = unary abs ~out x
let sqrt ~out x = unary sqrt ~out x
let sign ~out x = unary sign ~out x
let exp ~out x = unary exp ~out x
let log ~out x = unary log ~out x
let sin ~out x = unary sin ~out x
let cos ~out x = unary cos ~out x
let tan ~out x = unary tan ~out x
let asin ~out x = unary asin ~out x
let acos ~out x = unary acos ~out x
let atan ~out x = unary atan ~out x
let sinh ~out x = unary sinh ~out x
let cosh ~out x = unary cosh ~out x
let tanh ~out x = unary tanh ~out x
let trunc ~out x = unary trunc ~out x
let ceil ~out x = unary ceil ~out x
let floor ~out x = unary floor ~out x
let round ~out x = unary round ~out x
let erf ~out x = unary erf ~out x

(* Which quotient it is, Nx's frontend knows. *)
let div (type a b) ~(out : (a, b) t) (x : (a, b) t) (y : (a, b) t) =
  let quotient =
    match R.dtype x with
    | Dtype.Float16 | Float32 | Float64 | BFloat16 | Float8_e4m3 | Float8_e5m2 | Complex64 | Complex128 ->
        fdiv x y
    | _ -> idiv x y
  in
  assign out quotient

let add ~out a b = binary add ~out a b
let sub ~out a b = binary sub ~out a b
let mul ~out a b = binary mul ~out a b
let mod_ ~out a b = binary mod_ ~out a b
let pow ~out a b = binary pow ~out a b
let atan2 ~out a b = binary atan2 ~out a b
let max ~out a b = binary max ~out a b
let min ~out a b = binary min ~out a b
let xor ~out a b = binary xor ~out a b
let or_ ~out a b = binary or_ ~out a b
let and_ ~out a b = binary and_ ~out a b
let matmul ~out a b = binary matmul ~out a b
let cmpeq ~out a b = binary cmpeq ~out a b
let cmpne ~out a b = binary cmpne ~out a b
let cmplt ~out a b = binary cmplt ~out a b
let cmple ~out a b = binary cmple ~out a b
let threefry ~out a b = binary threefry ~out a b
let where ~out condition a b = assign out (where condition a b)

let reduce op ~out ~axes ~keepdims x =
  ignore (keepdims : bool);
  let sum = reduce ~op ~axes x in
  assign out (reshape sum (View.shape (view out)))

let reduce_sum ~out ~axes ~keepdims x = reduce `Sum ~out ~axes ~keepdims x
let reduce_prod ~out ~axes ~keepdims x = reduce `Prod ~out ~axes ~keepdims x
let reduce_max ~out ~axes ~keepdims x = reduce `Max ~out ~axes ~keepdims x
let reduce_min ~out ~axes ~keepdims x = reduce `Min ~out ~axes ~keepdims x
let argmax ~out ~axis ~keepdims x = assign out (argmax ~axis ~keepdims x)
let argmin ~out ~axis ~keepdims x = assign out (argmin ~axis ~keepdims x)
let associative_scan ~out ~axis ~op x = assign out (associative_scan ~axis ~op x)
let sort ~out ~axis ~descending x = assign out (sort ~axis ~descending x)
let argsort ~out ~axis ~descending x = assign out (argsort ~axis ~descending x)

let cat ~out tensors ~axis = assign out (cat tensors ~axis)
let cast ~out x = assign out (cast ~dtype:(dtype out) x)
let gather ~out data indices ~axis = assign out (gather data indices ~axis)

let scatter ?(mode = `Set) ?(unique_indices = false) template ~indices ~updates ~axis =
  scatter ~mode ~unique_indices template ~indices ~updates ~axis

let into out result =
  match out with
  | None -> result
  | Some out ->
      assign out result;
      out

let fft ?out t ~axes = into out (fft t ~axes)
let ifft ?out t ~axes = into out (ifft t ~axes)
let rfft ?out t ~dtype ~axes = into out (rfft t ~dtype ~axes)
let irfft ?out ?s t ~dtype ~axes = into out (irfft ?s t ~dtype ~axes)

(* ---- linear algebra fails with an exception of its own *)

let numeric f =
  try f () with
  | Backend_intf.Linalg_error { op; kind = `Not_positive_definite } -> invalid_arg op
  | Backend_intf.Linalg_error { op; kind = _ } -> failwith op

let cholesky ~upper t = numeric @@ fun () -> cholesky ~upper t

let triangular_solve ~upper ~transpose ~unit_diag a b =
  numeric @@ fun () -> triangular_solve ~upper ~transpose ~unit_diag a b

let eig ~vectors t =
  if not vectors then (eigvals t, None)
  else
    let values, columns = eig t in
    (values, Some columns)

let eigh ~vectors t =
  if not vectors then (eigvalsh t, None)
  else
    let values, columns = eigh t in
    (values, Some columns)
