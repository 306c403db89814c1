(* SPDX-License-Identifier: ISC *)
(* What the tests of Nx's interface share: values in, in several layouts, and out. *)

open Nx_core
module B : Backend_intf.S = Nx_backend

let c = B.create_context ()

(* ---- in and out *)

let product = Array.fold_left ( * ) 1

let tensor dtype shape f =
  let n = product shape in
  let buffer = Nx_buffer.create dtype n in
  for i = 0 to n - 1 do
    Nx_buffer.set buffer i (f i)
  done;
  B.reshape (B.from_host c buffer) shape

(* Elements in C order, through the view and the buffer of the storage. *)
let values t =
  let v = B.view t and buffer = B.to_host t in
  let shape = View.shape v and strides = View.strides v in
  Array.init (product shape) (fun i ->
      let rest = ref i and place = ref (View.offset v) in
      for axis = Array.length shape - 1 downto 0 do
        place := !place + (strides.(axis) * (!rest mod shape.(axis)));
        rest := !rest / shape.(axis)
      done;
      Nx_buffer.get buffer !place)

let shape t = View.shape (B.view t)
let into dtype shape f = let out = B.buffer c dtype shape in f ~out; out
let like x f = into (B.dtype x) (shape x) f

(* [3; 4] in several layouts *)
let layouts dtype f =
  let base = tensor dtype [| 5; 6 |] f in
  [ ("plain", tensor dtype [| 3; 4 |] f);
    ("permuted", B.permute (tensor dtype [| 4; 3 |] f) [| 1; 0 |]);
    ("part", B.shrink base [| (1, 4); (2, 6) |]);
    ("flipped", B.flip (B.shrink base [| (0, 3); (1, 5) |]) [| true; false |]);
    ("expanded", B.expand (tensor dtype [| 3; 1 |] f) [| 3; 4 |]);
    ("computed", like (tensor dtype [| 3; 4 |] f) (fun ~out -> B.neg ~out (tensor dtype [| 3; 4 |] f))) ]
