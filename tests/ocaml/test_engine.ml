(* SPDX-License-Identifier: ISC *)
(* The library for OCaml by itself: bigarrays, exceptions, functions, laziness. *)

open Check
module E = Nx_engine

let c = E.default ()
let vector values = Bigarray.genarray_of_array1 (Bigarray.Array1.of_array Bigarray.Float64 Bigarray.c_layout values)
let tensor values = E.of_bigarray ~mode:E.Copy c (vector values)
let number x = E.to_float (E.item x [||])
let elements x = Bigarray.array1_of_genarray (E.read Bigarray.Float64 x)
let list x = let a = elements x in Array.init (Bigarray.Array1.dim a) (Bigarray.Array1.get a)
let sum x = E.reduce E.Sum x ~axes:[| 0 |] ~keep:false

let test_modes () =
  let copied = vector [| 1.; 2. |] in
  let t = E.of_bigarray ~mode:E.Copy c copied in
  Bigarray.Genarray.set copied [| 0 |] 9.;
  same "a copy" ( = ) [| 1.; 2. |] (list t);
  let shared = vector [| 1.; 2. |] in
  let t = E.of_bigarray c shared in
  check "shared memory is exposed" (E.describe t).exposed;
  Bigarray.Genarray.set shared [| 0 |] 9.;
  same "shared, written here" ( = ) [| 9.; 2. |] (list t);
  E.assign t (tensor [| 3.; 4. |]);
  check "shared, written there" (Bigarray.Genarray.get shared [| 1 |] = 4.);
  E.end_sharing t;
  check "sharing ends" (not (E.describe t).exposed);
  let owned = E.of_bigarray ~mode:E.Owned c (vector [| 1.; 2. |]) in
  check "owned memory is not exposed" (not (E.describe owned).exposed);
  let frozen = E.of_bigarray ~mode:E.Frozen c (vector [| 1.; 2. |]) in
  raises "a frozen tensor" (function E.Error { status = Not_writable; _ } -> true | _ -> false)
    (fun () -> E.assign frozen owned);
  let half = E.import E.Copy c E.Bf16 [| 2 |]
    (Bigarray.genarray_of_array1 (Bigarray.Array1.of_array Bigarray.Int16_unsigned Bigarray.c_layout [| 0x3F80; 0x4000 |])) in
  same "bf16 from its bits" ( = ) [| 1.; 2. |] (list (E.cast half E.F64));
  raises "too few bytes" (function E.Error { status = Invalid_argument; _ } -> true | _ -> false)
    (fun () -> E.import E.Copy c E.F64 [| 3 |] (vector [| 1.; 2. |]));
  raises "another kind" (function Invalid_argument _ -> true | _ -> false) (fun () -> E.read Bigarray.Float32 owned);
  let written = E.empty c E.F64 [| 2 |] in
  E.write written (vector [| 5.; 6. |]);
  same "write" ( = ) [| 5.; 6. |] (list written);
  check "rank 0" (number (E.full c E.I32 [||] (E.Int 7L)) = 7.);
  let empty = Bigarray.Genarray.create Bigarray.Float64 Bigarray.c_layout [| 0 |] in
  check "no elements" (list (E.of_bigarray c empty) = [||]);
  check "a map of no elements" (Bigarray.Array1.dim (E.map Bigarray.Float64 (E.empty c E.F64 [| 0 |])) = 0)

let test_numbers () =
  check "u64" (E.item (E.full c E.U64 [||] (E.Int (-1L))) [||] = E.Int (-1L));
  check "f32" (E.item (E.full c E.F32 [||] (E.Float 0.5)) [||] = E.Float 0.5);
  let z = { Complex.re = 1.; im = -2. } in
  check "c128" (E.item (E.full c E.C128 [||] (E.Complex z)) [||] = E.Complex z);
  check "an element from the end" (E.item (tensor [| 1.; 2.; 3. |]) [| -1 |] = E.Float 3.)

let test_failures () =
  E.at 12 "line 12";
  let x = tensor [| 1.; 2. |] in
  raises "sentence, operation and place"
    (function
      | E.Error { status = Invalid_argument; operation; sentence; place = 12; place_text = "line 12"; _ } ->
          operation = "matmul" && String.length sentence > 10
      | _ -> false)
    (fun () -> E.binary E.Matmul x (tensor [| 1.; 2.; 3. |]));
  raises "a type" (function E.Error { status = Unsupported_dtype; _ } -> true | _ -> false)
    (fun () -> E.unary E.Sin (E.full c E.I32 [| 2 |] (E.Int 1L)));
  raises "an index" (function E.Error { status = Index_out_of_range; _ } -> true | _ -> false)
    (fun () -> E.item x [| 2 |]);
  let batch = E.cat [| E.full c E.F64 [| 1; 1; 1 |] (E.Float 1.); E.full c E.F64 [| 1; 1; 1 |] (E.Float (-1.)) |] ~axis:0 in
  raises "the matrix of a batch"
    (function E.Error { status = Not_positive_definite; index = 1; _ } -> true | _ -> false)
    (fun () -> E.realize c [| E.cholesky batch ~upper:false |]);
  raises "too many axes" (function Invalid_argument _ -> true | _ -> false)
    (fun () -> E.empty c E.F32 (Array.make 33 1));
  check "printed" (String.length (Printexc.to_string (try ignore (E.item x [| 5 |]); Exit with e -> e)) > 8);
  E.at 0 "";
  let small = E.create_context ~memory_limit:(1 lsl 20) () in
  raises "out of memory" (function E.Error { status = Out_of_memory; _ } -> true | _ -> false) (fun () ->
    E.realize small [| E.unary E.Exp (E.full small E.F64 [| 1 lsl 20 |] (E.Float 1.)) |])

(* The collector gives back what the limit needs. *)
let test_memory_limit () =
  let small = E.create_context ~memory_limit:(40 lsl 20) () in
  for _ = 1 to 20 do
    let t = E.unary E.Exp (E.full small E.F64 [| 1 lsl 20 |] (E.Float 1.)) in
    E.realize small [| t |]
  done;
  check "garbage makes room" true

let test_functions () =
  let w = tensor [| 1.; 2. |] in
  let f = E.Function.capture c [| (E.F64, [| 2 |]) |] (fun x ->
    E.assign w (E.binary E.Add w x.(0));
    [| sum (E.binary E.Mul x.(0) w) |]) in
  same "capturing assigns nothing" ( = ) [| 1.; 2. |] (list w);
  let loss = E.Function.call f [| tensor [| 1.; 1. |] |] in
  check "a call" (number loss.(0) = 5.);
  same "its assign" ( = ) [| 2.; 3. |] (list w);
  raises "a body that raises" (function Exit -> true | _ -> false) (fun () ->
    E.Function.capture c [| (E.F64, [| 2 |]) |] (fun x -> E.assign w x.(0); raise Exit));
  E.assign w (tensor [| 7.; 7. |]);
  same "the capture has ended" ( = ) [| 7.; 7. |] (list w);
  raises "inputs that do not fit" (function E.Error { status = Invalid_argument; _ } -> true | _ -> false)
    (fun () -> E.Function.call f [| tensor [| 1. |] |])

let test_laziness () =
  let x = ref (tensor [| 1.; 1. |]) in
  let one = tensor [| 1.; 1. |] in
  E.set_limits ~operations:100 ();
  for _ = 1 to 5000 do x := E.binary E.Add !x one done;
  Gc.full_major (); (* operations whose handles are garbage wait as long as these *)
  E.collect c;
  check "what waits is bounded" ((E.stats c).pending < 300);
  same "and right" ( = ) [| 5001.; 5001. |] (list !x);
  E.set_limits ();
  let bad = E.gather one (E.full c E.I32 [| 1 |] (E.Int 9L)) ~axis:0 in
  E.set_limits ~operations:1 ();
  for _ = 1 to 10 do x := E.binary E.Add !x one done;
  E.set_limits ();
  check "others go on" (number (E.reduce E.Maximum !x ~axes:[| 0 |] ~keep:false) = 5011.);
  raises "who reads it is told" (function E.Error { status = Index_out_of_range; _ } -> true | _ -> false)
    (fun () -> E.realize c [| bad |])

let time_one_step () =
  let x = E.unary E.Copy_of (E.full c E.F32 [| 10 |] (E.Float 1.)) in
  let index = [| 3 |] in
  Printf.printf "add of 10 elements and item: %.0f ns\n"
    (best ~batches:20 ~steps:1000 (fun () -> ignore (E.item (E.binary E.Add x x) index)));
  Gc.full_major ();
  (* fewer than make the library compute what waits *)
  Printf.printf "recording an add: %.0f ns\n"
    (best ~batches:9 ~steps:1000 (fun () -> ignore (E.binary E.Add x x)))

let () =
  test_modes ();
  test_numbers ();
  test_failures ();
  test_memory_limit ();
  test_functions ();
  test_laziness ();
  time_one_step ();
  finish ()
