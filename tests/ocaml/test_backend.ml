(* SPDX-License-Identifier: ISC *)
(* Each operation of Nx's interface, on several element types and layouts, beside values that are
   computed here. *)

open Nx_core
open Backend_values
open Check

(* ---- elementwise *)

let erf x =
  (* by its series, which converges well for what is asked here *)
  let term = ref x and sum = ref x in
  for n = 1 to 80 do
    term := -. !term *. x *. x /. float n;
    sum := !sum +. (!term /. float ((2 * n) + 1))
  done;
  2. /. sqrt (4. *. atan 1.) *. !sum

let test_unary (type b) name (dtype : (float, b) Dtype.t) tolerance =
  let one title (op : out:(float, b) B.t -> (float, b) B.t -> unit) f low high =
    let spread i = low +. ((high -. low) *. float (i * 7 mod 30) /. 30.) in
    List.iter
      (fun (layout, x) ->
        let out = like x (fun ~out -> op ~out x) in
        same
          (Printf.sprintf "%s %s %s" title name layout)
          (near ~tolerance)
          (Array.map f (values x))
          (values out))
      (List.filter (fun (l, _) -> low < 0. || l <> "computed") (layouts dtype spread))
  in
  let sign x = if x > 0. then 1. else if x < 0. then -1. else x in
  one "neg" B.neg Float.neg (-3.) 3.;
  one "recip" B.recip (fun x -> 1. /. x) (-3.) 3.;
  one "abs" B.abs Float.abs (-3.) 3.;
  one "sqrt" B.sqrt sqrt 0. 9.;
  one "sign" B.sign sign (-3.) 3.;
  one "exp" B.exp exp (-3.) 3.;
  one "log" B.log log 0.1 9.;
  one "sin" B.sin sin (-3.) 3.;
  one "cos" B.cos cos (-3.) 3.;
  one "tan" B.tan tan (-1.) 1.;
  one "asin" B.asin asin (-1.) 1.;
  one "acos" B.acos acos (-1.) 1.;
  one "atan" B.atan atan (-3.) 3.;
  one "sinh" B.sinh sinh (-3.) 3.;
  one "cosh" B.cosh cosh (-3.) 3.;
  one "tanh" B.tanh tanh (-3.) 3.;
  one "trunc" B.trunc Float.trunc (-3.) 3.;
  one "ceil" B.ceil ceil (-3.) 3.;
  one "floor" B.floor floor (-3.) 3.;
  one "round" B.round Float.round (-3.) 3.;
  one "erf" B.erf erf (-2.) 2.

(* A binary operation on all pairs of layouts. *)
let pairs title dtype equal op f first second =
  List.iter
    (fun (la, a) ->
      List.iter
        (fun (lb, b) ->
          let out = like a (fun ~out -> op ~out a b) in
          same (Printf.sprintf "%s %s %s" title la lb) equal
            (Array.map2 f (values a) (values b))
            (values out))
        (layouts dtype second))
    (layouts dtype first)

let test_binary_float name dtype tolerance =
  let a i = (float (i mod 9) *. 0.75) -. 2.5 and b i = 0.5 +. (float (i mod 5) *. 0.5) in
  let one title op f = pairs (title ^ " " ^ name) dtype (near ~tolerance) op f a b in
  one "add" B.add ( +. );
  one "sub" B.sub ( -. );
  one "mul" B.mul ( *. );
  one "div" B.div ( /. );
  one "mod" B.mod_ Float.rem;
  one "atan2" B.atan2 Float.atan2;
  one "max" B.max Float.max;
  one "min" B.min Float.min;
  pairs ("pow " ^ name) dtype (near ~tolerance) B.pow Float.pow
    (fun i -> 0.5 +. float (i mod 4)) (fun i -> 0.5 +. float (i mod 3))

let test_binary_int name dtype add sub mul div rem max min logxor logor logand of_int =
  let a i = of_int ((i * 37 mod 23) - 11) and b i = of_int ((i mod 5) + 1) in
  let one title op f = pairs (title ^ " " ^ name) dtype ( = ) op f a b in
  one "add" B.add add;
  one "sub" B.sub sub;
  one "mul" B.mul mul;
  one "div" B.div div;
  one "mod" B.mod_ rem;
  one "max" B.max max;
  one "min" B.min min;
  one "xor" B.xor logxor;
  one "or" B.or_ logor;
  one "and" B.and_ logand

let test_compare () =
  let compared (type a b) name (dtype : (a, b) Dtype.t) (a : int -> a) (b : int -> a) =
    let one title op f =
      let x = tensor dtype [| 3; 4 |] a and y = B.permute (tensor dtype [| 4; 3 |] b) [| 1; 0 |] in
      let out = into Dtype.Bool [| 3; 4 |] (fun ~out -> op ~out x y) in
      same (title ^ " " ^ name) ( = ) (Array.map2 f (values x) (values y)) (values out)
    in
    one "cmpeq" B.cmpeq ( = );
    one "cmpne" B.cmpne ( <> );
    one "cmplt" B.cmplt ( < );
    one "cmple" B.cmple ( <= )
  in
  compared "float32" Dtype.Float32 (fun i -> float (i mod 4)) (fun i -> float (i mod 3));
  compared "int16" Dtype.Int16 (fun i -> (i mod 4) - 2) (fun i -> (i mod 3) - 2);
  compared "int64" Dtype.Int64 (fun i -> Int64.of_int (i mod 4)) (fun i -> Int64.of_int (i mod 3))

let test_bool () =
  let a = tensor Dtype.Bool [| 2; 2 |] (fun i -> i land 1 = 1)
  and b = tensor Dtype.Bool [| 2; 2 |] (fun i -> i land 2 = 2) in
  let one title op f =
    same title ( = ) (Array.map2 f (values a) (values b)) (values (like a (fun ~out -> op ~out a b)))
  in
  one "and of bools" B.and_ ( && );
  one "or of bools" B.or_ ( || );
  one "xor of bools" B.xor ( <> );
  let x = tensor Dtype.Int32 [| 2; 2 |] Int32.of_int in
  let y = tensor Dtype.Int32 [| 2; 2 |] (fun i -> Int32.of_int (-i)) in
  same "where" ( = ) [| 0l; 1l; -2l; 3l |] (values (like x (fun ~out ->
    B.where ~out (tensor Dtype.Bool [| 2; 2 |] (fun i -> i <> 2)) x y)))

let test_small_types () =
  let x = tensor Dtype.BFloat16 [| 4 |] (fun i -> 1. +. (float i /. 128.)) in
  let y = tensor Dtype.BFloat16 [| 4 |] (fun _ -> 256.) in
  same "add bfloat16" ( = ) [| 256.; 258.; 258.; 258. |] (values (like x (fun ~out -> B.add ~out x y)));
  let x = tensor Dtype.UInt32 [| 2 |] (fun i -> if i = 0 then -1l else 7l) in
  let y = tensor Dtype.UInt32 [| 2 |] (fun _ -> 2l) in
  same "div uint32" ( = ) [| 0x7FFFFFFFl; 3l |] (values (like x (fun ~out -> B.div ~out x y)));
  let x = tensor Dtype.UInt64 [| 2 |] (fun i -> if i = 0 then -1L else 7L) in
  let y = tensor Dtype.UInt64 [| 2 |] (fun _ -> 2L) in
  same "div uint64" ( = ) [| Int64.max_int; 3L |] (values (like x (fun ~out -> B.div ~out x y)));
  let x = tensor Dtype.UInt8 [| 2 |] (fun i -> 200 + i) in
  same "add uint8 wraps" ( = ) [| 144; 146 |] (values (like x (fun ~out -> B.add ~out x x)));
  List.iter
    (fun f -> f ())
    [ (fun () -> check "kind of float16" (Nx_buffer.kind (B.to_host (B.full c Dtype.Float16 [| 2 |] 1.)) = Dtype.Float16));
      (fun () -> check "kind of int4" (Nx_buffer.kind (B.to_host (B.full c Dtype.Int4 [| 3 |] 1)) = Dtype.Int4));
      (fun () -> check "kind of e4m3" (Nx_buffer.kind (B.to_host (B.full c Dtype.Float8_e4m3 [| 2 |] 1.)) = Dtype.Float8_e4m3)) ]

(* ---- creation, assignment, conversion *)

let test_creation () =
  same "full" ( = ) [| 2.5; 2.5 |] (values (B.full c Dtype.Float32 [| 2 |] 2.5));
  same "full of a scalar" ( = ) [| 7 |] (values (B.full c Dtype.Int16 [||] 7));
  same "full of bools" ( = ) [| true |] (values (B.full c Dtype.Bool [| 1 |] true));
  let i = { Complex.re = 1.; im = -2. } in
  same "full complex" ( = ) [| i; i |] (values (B.full c Dtype.Complex64 [| 2 |] i));
  check "an empty tensor" (values (B.full c Dtype.Float64 [| 0; 3 |] 1.) = [||]);
  let b = B.buffer c Dtype.Int32 [| 2; 3 |] in
  check "shape of a buffer" (shape b = [| 2; 3 |] && View.is_c_contiguous (B.view b));
  check "length of its storage" (Nx_buffer.length (B.to_host b) = 6);
  check "context" (B.context b == c)

let test_assign () =
  let x = tensor Dtype.Int32 [| 3; 4 |] Int32.of_int in
  let before = B.copy x in
  B.assign (B.shrink x [| (1, 2); (0, 4) |]) (B.full c Dtype.Int32 [| 1; 4 |] 9l);
  same "assign to a part" ( = ) (Array.init 12 (fun i -> if i / 4 = 1 then 9l else Int32.of_int i)) (values x);
  same "a copy keeps the old" ( = ) (Array.init 12 Int32.of_int) (values before);
  (* an output that has been written, and one that the host sees *)
  let out = B.buffer c Dtype.Int32 [| 3; 4 |] in
  B.add ~out x x;
  let view = B.permute out [| 1; 0 |] in
  let kept = like x (fun ~out:o -> B.neg ~out:o out) in
  B.sub ~out x x;
  same "an output twice" ( = ) (Array.make 12 0l) (values out);
  same "its view" ( = ) (Array.make 12 0l) (values view);
  same "its reader" ( = ) (Array.map (fun v -> Int32.mul (-2l) v) (values x)) (values kept);
  let seen = B.to_host out in
  B.add ~out x x;
  same "a buffer shows what is written" ( = ) (Array.map (fun v -> Int32.add v v) (values x))
    (Array.init 12 (Nx_buffer.get seen));
  Nx_buffer.set seen 0 77l;
  check "and the tensor what the host writes" ((values out).(0) = 77l);
  (* views of an output before it is written *)
  let out = B.buffer c Dtype.Int32 [| 2; 2 |] in
  let early = B.flip out [| true; true |] in
  B.add ~out (tensor Dtype.Int32 [| 2; 2 |] Int32.of_int) (B.full c Dtype.Int32 [| 2; 2 |] 1l);
  same "a view that was there before" ( = ) [| 4l; 3l; 2l; 1l |] (values early);
  (* an output that is a part of something *)
  let whole = B.full c Dtype.Int32 [| 2; 3 |] 0l in
  let part = B.shrink whole [| (1, 2); (0, 3) |] in
  B.add ~out:part (B.full c Dtype.Int32 [| 1; 3 |] 1l) (B.full c Dtype.Int32 [| 1; 3 |] 2l);
  same "a part as output" ( = ) [| 0l; 0l; 0l; 3l; 3l; 3l |] (values whole)

let test_zero_copy () =
  let buffer = Nx_buffer.create Dtype.Float64 4 in
  for i = 0 to 3 do Nx_buffer.set buffer i (float i) done;
  let t = B.from_host c buffer in
  check "the same array comes back" (B.to_host t == buffer);
  let doubled = like t (fun ~out -> B.add ~out t t) in
  Nx_buffer.set buffer 0 50.;
  same "what was recorded before a write" ( = ) [| 0.; 2.; 4.; 6. |] (values doubled);
  check "the tensor sees the write" ((values t).(0) = 50.);
  B.assign t (B.full c Dtype.Float64 [| 4 |] 3.);
  check "the array sees an assign" (Nx_buffer.get buffer 2 = 3.)

let test_cast () =
  let x = tensor Dtype.Float64 [| 4 |] (fun i -> (float i *. 1.4) -. 2.1) in
  same "to int32" ( = ) [| -2l; 0l; 0l; 2l |] (values (into Dtype.Int32 [| 4 |] (fun ~out -> B.cast ~out x)));
  same "to bool" ( = ) [| true; true; true; true |] (values (into Dtype.Bool [| 4 |] (fun ~out -> B.cast ~out x)));
  let again = like x (fun ~out -> B.cast ~out x) in
  B.assign again (B.full c Dtype.Float64 [| 4 |] 0.);
  check "a cast to the same type is a copy" ((values x).(0) = -2.1);
  let same_shape = like x (fun ~out -> B.reduce_sum ~out ~axes:[||] ~keepdims:false x) in
  B.assign same_shape (B.full c Dtype.Float64 [| 4 |] 0.);
  check "so is a sum over no axis" ((values x).(0) = -2.1)

(* ---- along axes *)

let lines shape axis =
  let inner = product (Array.sub shape (axis + 1) (Array.length shape - axis - 1)) in
  let outer = product (Array.sub shape 0 axis) in
  (outer, shape.(axis), inner)

let reduced shape axis f x =
  let outer, n, inner = lines shape axis in
  Array.init (outer * inner) (fun i ->
      let o = i / inner and k = i mod inner in
      f (Array.init n (fun j -> x.((((o * n) + j) * inner) + k))))

let along shape axis f x =
  let outer, n, inner = lines shape axis in
  let result = Array.make (Array.length x) x.(0) in
  for o = 0 to outer - 1 do
    for k = 0 to inner - 1 do
      let place j = (((o * n) + j) * inner) + k in
      Array.iteri (fun j v -> result.(place j) <- v) (f (Array.init n (fun j -> x.(place j))))
    done
  done;
  result

let fold1 f line = Array.fold_left f line.(0) (Array.sub line 1 (Array.length line - 1))

let place_of better line =
  let best = ref 0 in
  Array.iteri (fun i v -> if better v line.(!best) then best := i) line;
  Int32.of_int !best

let test_reduce (type a b) name (dtype : (a, b) Dtype.t) (f : int -> a) equal add mul max min =
  List.iter
    (fun (layout, x) ->
      for axis = 0 to 1 do
        let one title op g =
          List.iter
            (fun keepdims ->
              let s = if keepdims then Array.mapi (fun i n -> if i = axis then 1 else n) (shape x)
                else [| (shape x).(1 - axis) |] in
              let out = into dtype s (fun ~out -> op ~out ~axes:[| axis |] ~keepdims x) in
              same (Printf.sprintf "%s %s %s %d" title name layout axis) equal
                (reduced (shape x) axis (fold1 g) (values x)) (values out))
            [ false; true ]
        in
        one "reduce_sum" B.reduce_sum add;
        one "reduce_prod" B.reduce_prod mul;
        one "reduce_max" B.reduce_max max;
        one "reduce_min" B.reduce_min min;
        let place title op better =
          let out = into Dtype.Int32 [| (shape x).(1 - axis) |] (fun ~out ->
            op ~out ~axis ~keepdims:false x) in
          same (Printf.sprintf "%s %s %s %d" title name layout axis) ( = )
            (reduced (shape x) axis (place_of better) (values x)) (values out)
        in
        place "argmax" B.argmax (fun v best -> compare v best > 0);
        place "argmin" B.argmin (fun v best -> compare v best < 0);
        let scan title op g =
          let running line =
            let acc = ref line.(0) in
            Array.mapi (fun i v -> if i > 0 then acc := g !acc v; !acc) line
          in
          same (Printf.sprintf "scan %s %s %s %d" title name layout axis) equal
            (along (shape x) axis running (values x))
            (values (like x (fun ~out -> B.associative_scan ~out ~axis ~op x)))
        in
        scan "sum" `Sum add;
        scan "prod" `Prod mul;
        scan "max" `Max max;
        scan "min" `Min min;
        List.iter
          (fun descending ->
            let order a b = if descending then compare b a else compare a b in
            let sorted line = let l = Array.copy line in Array.stable_sort order l; l in
            same (Printf.sprintf "sort %s %s %d" name layout axis) equal
              (along (shape x) axis sorted (values x))
              (values (like x (fun ~out -> B.sort ~out ~axis ~descending x)));
            let places line =
              let p = Array.init (Array.length line) Fun.id in
              Array.stable_sort (fun i j -> order line.(i) line.(j)) p;
              Array.map Int32.of_int p
            in
            let outer, n, inner = lines (shape x) axis in
            let expected = Array.make (outer * n * inner) 0l in
            for o = 0 to outer - 1 do
              for k = 0 to inner - 1 do
                let place j = (((o * n) + j) * inner) + k in
                let v = values x in
                Array.iteri (fun j p -> expected.(place j) <- p) (places (Array.init n (fun j -> v.(place j))))
              done
            done;
            same (Printf.sprintf "argsort %s %s %d" name layout axis) ( = ) expected
              (values (into Dtype.Int32 (shape x) (fun ~out -> B.argsort ~out ~axis ~descending x))))
          [ false; true ]
      done)
    (layouts dtype f);
  let x = tensor dtype [| 2; 3; 2 |] f in
  let out = into dtype [| 3 |] (fun ~out -> B.reduce_sum ~out ~axes:[| 0; 2 |] ~keepdims:false x) in
  let v = values x in
  same ("two axes " ^ name) equal
    (Array.init 3 (fun j -> add (add v.(2 * j) v.((2 * j) + 1)) (add v.(6 + (2 * j)) v.(7 + (2 * j)))))
    (values out)

(* ---- movement *)

let test_movement () =
  let x = tensor Dtype.Int32 [| 2; 3 |] Int32.of_int in
  same "permute" ( = ) [| 0l; 3l; 1l; 4l; 2l; 5l |] (values (B.permute x [| 1; 0 |]));
  raises "reshape that strides cannot express" (function Invalid_argument _ -> true | _ -> false)
    (fun () -> B.reshape (B.permute x [| 1; 0 |]) [| 6 |]);
  same "reshape of what was permuted" ( = ) [| 0l; 3l; 1l; 4l; 2l; 5l |]
    (values (B.reshape (B.contiguous (B.permute x [| 1; 0 |])) [| 6 |]));
  same "flip" ( = ) [| 2l; 1l; 0l; 5l; 4l; 3l |] (values (B.flip x [| false; true |]));
  same "shrink" ( = ) [| 1l; 2l |] (values (B.shrink x [| (0, 1); (1, 3) |]));
  let t = B.permute (B.flip x [| false; true |]) [| 1; 0 |] in
  same "an element of a view" ( = ) [| 4l |] (values (B.reshape (B.shrink t [| (1, 2); (1, 2) |]) [||]));
  same "a scalar of a scalar" ( = ) [| 4l |] (values (B.reshape (B.reshape (B.shrink t [| (1, 2); (1, 2) |]) [||]) [||]));
  same "a part of a view" ( = ) [| 4l; 3l |] (values (B.shrink t [| (1, 3); (1, 2) |]));
  check "all of a view" (B.view (B.shrink t [| (0, 3); (0, 2) |]) == B.view t);
  List.iter
    (fun bounds ->
      raises "bounds outside of a view" (function Invalid_argument _ -> true | _ -> false)
        (fun () -> B.shrink t bounds))
    [ [| (0, 4); (0, 2) |]; [| (-1, 2); (0, 2) |]; [| (0, 3) |]; [| (0, 3); (0, 2); (0, 1) |] ];
  check "shrink to nothing" (values (B.shrink x [| (0, 0); (1, 3) |]) = [||]);
  same "expand" ( = ) [| 5l; 5l; 5l |] (values (B.expand (tensor Dtype.Int32 [| 1 |] (fun _ -> 5l)) [| 3 |]));
  same "pad" ( = ) [| 7l; 0l; 1l; 2l; 7l; 3l; 4l; 5l |] (values (B.pad x [| (0, 0); (1, 0) |] 7l));
  same "cat" ( = ) [| 0l; 1l; 2l; 0l; 3l; 4l; 5l; 3l |]
    (values (into Dtype.Int32 [| 2; 4 |] (fun ~out ->
      B.cat ~out [ x; B.shrink x [| (0, 2); (0, 1) |] ] ~axis:1)));
  check "contiguous is the same" (B.contiguous x == x);
  check "contiguous of a view" (View.is_c_contiguous (B.view (B.contiguous (B.flip x [| true; true |]))));
  raises "reshape of another size" (function Invalid_argument _ -> true | _ -> false)
    (fun () -> B.reshape (B.permute x [| 1; 0 |]) [| 5 |])

(* ---- by index, windows *)

let test_index () =
  let x = tensor Dtype.Float32 [| 3; 2 |] float in
  let i = tensor Dtype.Int32 [| 2; 2 |] (fun k -> [| 2l; 0l; 1l; 1l |].(k)) in
  same "gather" ( = ) [| 4.; 1.; 2.; 3. |] (values (into Dtype.Float32 [| 2; 2 |] (fun ~out ->
    B.gather ~out x i ~axis:0)));
  let updates = tensor Dtype.Float32 [| 2; 2 |] (fun k -> float (10 * (k + 1))) in
  same "scatter" ( = ) [| 0.; 20.; 30.; 40.; 10.; 5. |] (values (B.scatter x ~indices:i ~updates ~axis:0));
  same "scatter that adds" ( = ) [| 0.; 21.; 32.; 43.; 14.; 5. |]
    (values (B.scatter ~mode:`Add ~unique_indices:true x ~indices:i ~updates ~axis:0));
  same "its template is as before" ( = ) (Array.init 6 float) (values x)

let test_window () =
  let x = tensor Dtype.Float64 [| 2; 5 |] float in
  let windows = B.unfold x ~kernel_size:[| 3 |] ~stride:[| 2 |] ~dilation:[| 1 |] ~padding:[| (1, 1) |] in
  check "shape of unfold" (shape windows = [| 2; 3; 3 |]);
  let at row i = if i < 0 || i > 4 then 0. else float ((5 * row) + i) in
  same "unfold" ( = )
    (Array.init 18 (fun n -> at (n / 9) ((n mod 3 * 2) + (n / 3 mod 3) - 1))) (values windows);
  let back = B.fold windows ~output_size:[| 5 |] ~kernel_size:[| 3 |] ~stride:[| 2 |]
    ~dilation:[| 1 |] ~padding:[| (1, 1) |] in
  same "fold" ( = )
    (Array.init 10 (fun n -> at (n / 5) (n mod 5) *. if n mod 5 mod 2 = 1 then 2. else 1.))
    (values back)

let test_threefry () =
  let rotate x by = ((x lsl by) lor (x lsr (32 - by))) land 0xFFFFFFFF in
  let reference k0 k1 c0 c1 =
    let keys = [| k0; k1; k0 lxor k1 lxor 0x1BD11BDA |] in
    let rotations = [| 13; 15; 26; 6; 17; 29; 16; 24 |] in
    let a = ref ((c0 + k0) land 0xFFFFFFFF) and b = ref ((c1 + k1) land 0xFFFFFFFF) in
    for round = 0 to 19 do
      a := (!a + !b) land 0xFFFFFFFF;
      b := rotate !b rotations.(round mod 8) lxor !a;
      if round mod 4 = 3 then begin
        let s = (round / 4) + 1 in
        a := (!a + keys.(s mod 3)) land 0xFFFFFFFF;
        b := (!b + keys.((s + 1) mod 3) + s) land 0xFFFFFFFF
      end
    done;
    (Int32.of_int !a, Int32.of_int !b)
  in
  let key = tensor Dtype.Int32 [| 3; 2 |] (fun i -> Int32.of_int (1 + (i mod 2))) in
  let counter = tensor Dtype.Int32 [| 3; 2 |] Int32.of_int in
  let expected = Array.concat (List.init 3 (fun i ->
    let a, b = reference 1 2 (2 * i) ((2 * i) + 1) in [| a; b |])) in
  same "threefry" ( = ) expected (values (like counter (fun ~out -> B.threefry ~out key counter)))

(* ---- products, transforms, linear algebra *)

let times a b n k m = Array.init (n * m) (fun i ->
  let sum = ref 0. in
  for j = 0 to k - 1 do sum := !sum +. (a.((i / m * k) + j) *. b.((j * m) + (i mod m))) done;
  !sum)

let turned a n m = Array.init (n * m) (fun i -> a.((i mod n * m) + (i / n)))

let test_matmul () =
  List.iter (fun (la, a) ->
    List.iter (fun (lb, b) ->
      let b = B.permute b [| 1; 0 |] in
      same ("matmul " ^ la ^ " " ^ lb) (near ~tolerance:1e-12) (times (values a) (values b) 3 4 3)
        (values (into Dtype.Float64 [| 3; 3 |] (fun ~out -> B.matmul ~out a b))))
      (layouts Dtype.Float64 (fun i -> float (i mod 5) -. 1.5)))
    (layouts Dtype.Float64 (fun i -> float (i mod 7) *. 0.5));
  let a = tensor Dtype.Float32 [| 2; 2; 2 |] float in
  let b = B.expand (B.reshape (tensor Dtype.Float32 [| 2; 2 |] float) [| 1; 2; 2 |]) [| 2; 2; 2 |] in
  same "a batch" ( = ) [| 2.; 3.; 6.; 11.; 10.; 19.; 14.; 27. |]
    (values (into Dtype.Float32 [| 2; 2; 2 |] (fun ~out -> B.matmul ~out a b)))

let close (a : Complex.t) (b : Complex.t) =
  Complex.norm (Complex.sub a b) <= 1e-5 *. Float.max 1. (Complex.norm a)

let transform sign x =
  let n = Array.length x in
  Array.init n (fun k ->
    let sum = ref Complex.zero in
    Array.iteri (fun j v ->
      let angle = sign *. 8. *. atan 1. *. float (j * k) /. float n in
      sum := Complex.add !sum (Complex.mul v (Complex.polar 1. angle))) x;
    !sum)

let test_fft (type b) name (dtype : (Complex.t, b) Dtype.t) =
  let f i = { Complex.re = float (i mod 5); im = float (i mod 3) -. 1. } in
  let x = tensor dtype [| 2; 6 |] f in
  same ("fft " ^ name) close (along [| 2; 6 |] 1 (transform (-1.)) (values x)) (values (B.fft x ~axes:[| 1 |]));
  same ("ifft " ^ name) close (along [| 2; 6 |] 1 (transform 1.) (values x)) (values (B.ifft x ~axes:[| 1 |]));
  let out = B.buffer c dtype [| 2; 6 |] in
  check "the output that is given" (B.fft ~out x ~axes:[| 0 |] == out);
  same ("fft of columns " ^ name) close (along [| 2; 6 |] 0 (transform (-1.)) (values x)) (values out)

let test_rfft (type a b) name (real : (float, a) Dtype.t) (wide : (Complex.t, b) Dtype.t) =
  let f i = float (i * i mod 7) -. 2. in
  let x = tensor real [| 6 |] f in
  let full = transform (-1.) (Array.init 6 (fun i -> { Complex.re = f i; im = 0. })) in
  let half = B.rfft x ~dtype:wide ~axes:[| 0 |] in
  check "type of rfft" (B.dtype half = wide);
  same ("rfft " ^ name) close (Array.sub full 0 4) (values half);
  let back = B.irfft half ~dtype:real ~axes:[| 0 |] in
  same ("irfft " ^ name) (near ~tolerance:1e-5) (Array.init 6 (fun i -> 6. *. f i)) (values back);
  check ("irfft of a size " ^ name) (shape (B.irfft ~s:[| 7 |] half ~dtype:real ~axes:[| 0 |]) = [| 7 |])

let test_linalg (type b) name (dtype : (float, b) Dtype.t) tolerance =
  let same title = same (title ^ " " ^ name) (near ~tolerance) in
  let m = tensor dtype [| 3; 3 |] (fun i -> [| 4.; 1.; 0.5; 1.; 5.; 2.; 0.5; 2.; 6. |].(i)) in
  let a = values m in
  let l = values (B.cholesky ~upper:false m) in
  same "cholesky" a (times l (turned l 3 3) 3 3 3);
  let u = values (B.cholesky ~upper:true m) in
  same "cholesky, upper" a (times (turned u 3 3) u 3 3 3);
  let tall = tensor dtype [| 4; 3 |] (fun i -> float ((i * 7 mod 11) - 4)) in
  let q, r = B.qr ~reduced:true tall in
  check "shapes of qr" (shape q = [| 4; 3 |] && shape r = [| 3; 3 |]);
  same "qr" (values tall) (times (values q) (values r) 4 3 3);
  let q, r = B.qr ~reduced:false tall in
  check "shapes of the full qr" (shape q = [| 4; 4 |] && shape r = [| 4; 3 |]);
  same "full qr" (values tall) (times (values q) (values r) 4 4 3);
  let u, s, vh = B.svd ~full_matrices:false tall in
  let s = values s in
  check "singular values descend" (s.(0) >= s.(1) && s.(1) >= s.(2));
  same "svd" (values tall)
    (times (Array.mapi (fun i v -> v *. s.(i mod 3)) (values u)) (values vh) 4 3 3);
  let u, _, vh = B.svd ~full_matrices:true tall in
  check "shapes of the full svd" (shape u = [| 4; 4 |] && shape vh = [| 3; 3 |]);
  let w, v = B.eigh ~vectors:true m in
  let v = values (Option.get v) and w = values w in
  same "eigh" (times a v 3 3 3) (Array.mapi (fun i x -> x *. w.(i mod 3)) v);
  let alone, none = B.eigh ~vectors:false m in
  check "no vectors" (none = None);
  same "eigenvalues alone" w (values alone);
  let turn = tensor dtype [| 2; 2 |] (fun i -> [| 0.; -1.; 1.; 0. |].(i)) in
  let w, v = B.eig ~vectors:true turn in
  let w = values w and v = values (Option.get v) in
  check ("eig " ^ name) (Complex.norm (Complex.add w.(0) w.(1)) < 1e-6
    && close (Complex.neg v.(2)) (Complex.mul w.(0) v.(0)) && close v.(1) (Complex.mul w.(1) v.(3)));
  let w, none = B.eig ~vectors:false turn in
  check "eigenvalues of eig" (none = None && Array.for_all (fun z -> near (Complex.norm z) 1.) (values w));
  let rhs = tensor dtype [| 3; 2 |] (fun i -> float (i + 1)) in
  let lower = Array.mapi (fun i x -> if i mod 3 > i / 3 then 0. else x) a in
  let x = values (B.triangular_solve ~upper:false ~transpose:false ~unit_diag:false m rhs) in
  same "triangular_solve" (values rhs) (times lower x 3 3 2);
  let x = values (B.triangular_solve ~upper:false ~transpose:true ~unit_diag:false m rhs) in
  same "triangular_solve, transposed" (values rhs) (times (turned lower 3 3) x 3 3 2);
  let upper = Array.mapi (fun i x -> if i mod 3 < i / 3 then 0. else if i mod 4 = 0 then 1. else x) a in
  let x = values (B.triangular_solve ~upper:true ~transpose:false ~unit_diag:true m rhs) in
  same "triangular_solve, ones on the diagonal" (values rhs) (times upper x 3 3 2)

(* Transposed is conjugated, too; vectors as right sides, one for each matrix of a batch. *)
let test_solve () =
  let z re im = { Complex.re; im } in
  let a = [| z 2. 1.; z 9. 9.; z 1. 1.; z 3. (-2.) |] and b = [| z 1. 0.; z 2. 5. |] in
  let solve ~transpose a b = values (B.triangular_solve ~upper:false ~transpose ~unit_diag:false a b) in
  let m = tensor Dtype.Complex128 [| 2; 2 |] (Array.get a) in
  let v = tensor Dtype.Complex128 [| 2 |] (Array.get b) in
  let x = solve ~transpose:true m v in
  let open Complex in
  let near a b = norm (sub a b) < 1e-12 in
  check "adjoint of a complex matrix"
    (near (mul (conj a.(3)) x.(1)) b.(1)
    && near (add (mul (conj a.(0)) x.(0)) (mul (conj a.(2)) x.(1))) b.(0));
  let batch = tensor Dtype.Float64 [| 2; 2; 2 |] (fun i -> [| 2.; 0.; 1.; 3.; 4.; 0.; -2.; 5. |].(i)) in
  let sides = tensor Dtype.Float64 [| 2; 2 |] (fun i -> [| 2.; 7.; 12.; -11. |].(i)) in
  same "a vector for each matrix" ( = ) [| 1.; 2.; 3.; -1. |] (solve ~transpose:false batch sides)

(* ---- failures *)

let test_failures () =
  let m = B.full c Dtype.Float64 [| 2; 2 |] (-1.) in
  raises "cholesky" (function Invalid_argument s -> s <> "" | _ -> false) (fun () -> B.cholesky ~upper:false m);
  raises "triangular_solve"
    (function Failure _ -> true | _ -> false)
    (fun () -> B.triangular_solve ~upper:false ~transpose:false ~unit_diag:false
      (B.full c Dtype.Float64 [| 2; 2 |] 0.) m);
  raises "shapes" (function Invalid_argument _ -> true | _ -> false) (fun () ->
    B.matmul ~out:(B.buffer c Dtype.Float64 [| 2; 3 |]) m (B.full c Dtype.Float64 [| 3; 3 |] 1.));
  raises "an index that is out of range" (function Invalid_argument _ -> true | _ -> false) (fun () ->
    let i = B.full c Dtype.Int32 [| 1; 2 |] 5l in
    B.to_host (into Dtype.Float64 [| 1; 2 |] (fun ~out -> B.gather ~out m i ~axis:0)))

(* ---- speed *)

let time_one_step () =
  let x = tensor Dtype.Float32 [| 10 |] float in
  let x = B.copy x in
  let step () =
    let out = B.buffer c Dtype.Float32 [| 10 |] in
    B.add ~out x x;
    ignore (Nx_buffer.get (B.to_host out) 3)
  in
  Printf.printf "add of 10 elements and an element through Nx's interface: %.0f ns\n"
    (best ~batches:20 ~steps:1000 step)

let () =
  test_unary "float64" Dtype.Float64 1e-12;
  test_unary "float32" Dtype.Float32 2e-6;
  test_binary_float "float64" Dtype.Float64 1e-12;
  test_binary_float "float32" Dtype.Float32 2e-6;
  test_binary_int "int8" Dtype.Int8 ( + ) ( - ) ( * ) ( / ) ( mod ) max min ( lxor ) ( lor ) ( land ) Fun.id;
  Int32.(test_binary_int "int32" Dtype.Int32 add sub mul div rem max min logxor logor logand of_int);
  Int64.(test_binary_int "int64" Dtype.Int64 add sub mul div rem max min logxor logor logand of_int);
  test_compare ();
  test_bool ();
  test_small_types ();
  test_creation ();
  test_assign ();
  test_zero_copy ();
  test_cast ();
  test_reduce "float64" Dtype.Float64 (fun i -> float (i * 7 mod 13) -. 5.) near ( +. ) ( *. ) Float.max Float.min;
  test_reduce "int32" Dtype.Int32 (fun i -> Int32.of_int ((i * 7 mod 13) - 5)) ( = ) Int32.add Int32.mul max min;
  test_movement ();
  test_index ();
  test_window ();
  test_threefry ();
  test_matmul ();
  test_fft "complex64" Dtype.Complex64;
  test_fft "complex128" Dtype.Complex128;
  test_rfft "float32" Dtype.Float32 Dtype.Complex64;
  test_rfft "float64 to complex64" Dtype.Float64 Dtype.Complex64;
  test_rfft "float32 to complex128" Dtype.Float32 Dtype.Complex128;
  test_linalg "float64" Dtype.Float64 1e-9;
  test_linalg "float32" Dtype.Float32 1e-4;
  test_solve ();
  test_failures ();
  time_one_step ();
  finish ()
