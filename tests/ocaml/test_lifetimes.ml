(* SPDX-License-Identifier: ISC *)
(* What the collector, signals and threads do to tensors and to the memory that they share. *)

open Check
module E = Nx_engine

let c = E.default ()

let settle () =
  for _ = 1 to 3 do
    Gc.compact ();
    E.collect c
  done

let big n value = E.unary E.Copy_of (E.full c E.F64 [| n |] (E.Float value))

(* Handles, mappings and imports that become garbage in any order. *)
let test_stress () =
  let kept = Array.make 8 None in
  for i = 1 to 400 do
    let t = big 100 (float i) in
    let a = E.map Bigarray.Float64 t in
    let part = Bigarray.Array1.sub a (i mod 50) 10 in
    let shared = E.of_bigarray c (Bigarray.genarray_of_array1 part) in
    kept.(i mod 8) <- Some (part, shared, float i);
    if i mod 40 = 0 then Gc.compact ();
    Array.iter
      (function
        | Some (part, shared, v) when Bigarray.Array1.get part 3 <> v || E.item shared [| 2 |] <> E.Float v ->
            check "an element of a part" false
        | _ -> ())
      kept
  done;
  Array.fill kept 0 8 None;
  settle ();
  check "all is given back" ((E.stats c).live_bytes < 100_000)

let test_outliving () =
  let part =
    let t = big 1000 4. in
    let a = E.map Bigarray.Float64 t in
    let g = Bigarray.genarray_of_array1 a in
    let rows = Bigarray.reshape g [| 10; 100 |] in
    Bigarray.Genarray.slice_left rows [| 3 |]
  in
  settle ();
  for _ = 1 to 50 do ignore (E.item (big 1000 0.) [| 0 |]) done;
  check "a part of a part outlives its tensor" (Bigarray.Genarray.get part [| 99 |] = 4.);
  check "and is a bigarray like any other" (compare part part = 0);
  let a = E.map Bigarray.Float64 (big 10 1.) in
  settle ();
  Bigarray.Array1.fill a 2.;
  check "so does the whole" (Bigarray.Array1.get a 9 = 2.)

let test_import_outlives () =
  let freed = ref 0 in
  let make () =
    let a = Bigarray.Genarray.create Bigarray.Float64 Bigarray.c_layout [| 1000 |] in
    Bigarray.Genarray.fill a 3.;
    Gc.finalise (fun _ -> incr freed) a;
    E.of_bigarray c a
  in
  let t = make () in
  settle ();
  check "the array lives as long as the tensor" (!freed = 0 && E.item t [| 5 |] = E.Float 3.);
  for _ = 1 to 20 do ignore (Sys.opaque_identity (make ())) done;
  settle ();
  settle ();
  check "imports that are garbage go" (!freed >= 19 && !freed <= 20);
  check "the first one stays" (E.item t [| 999 |] = E.Float 3.)

(* On memory that is shared operations compute at once, so the one that fails is told, and no other
   one: though its tensor is garbage that nobody has collected. *)
let test_failure_of_shared () =
  let a = Bigarray.Genarray.create Bigarray.Float64 Bigarray.c_layout [| 1; 1 |] in
  Bigarray.Genarray.fill a (-4.);
  let x = E.of_bigarray c a in
  let fails = function E.Error { status = E.Not_positive_definite; _ } -> true | _ -> false in
  for _ = 1 to 3 do
    raises "a root of shared memory" fails (fun () -> E.cholesky x ~upper:false)
  done;
  check "what is recorded next" (E.item (E.unary E.Neg x) [| 0; 0 |] = E.Float 4.);
  let m = E.map Bigarray.Float64 (big 1 5.) in
  let y = E.of_bigarray c (Bigarray.genarray_of_array1 m) in
  let wrong = E.full c E.I32 [| 1 |] (E.Int 7L) in
  let out = function E.Error { status = E.Index_out_of_range; _ } -> true | _ -> false in
  raises "an index into shared memory" out (fun () -> E.assign y (E.gather y wrong ~axis:0));
  check "what is assigned next" (E.assign x (E.full c E.F64 [||] (E.Float 3.));
    Bigarray.Genarray.get a [| 0; 0 |] = 3.)

(* The collector is told what a handle holds: garbage does not pile up. *)
let test_honest_memory () =
  settle ();
  let most = ref 0 in
  for i = 1 to 400 do
    E.realize c [| big 100_000 (float i) |];
    most := max !most (E.stats c).live_bytes
  done;
  check (Printf.sprintf "320 MB of garbage held %d MB at most" (!most / 1_000_000)) (!most < 100_000_000)

let resident () =
  let file = open_in "/proc/self/statm" in
  let line = input_line file in
  close_in file;
  match String.split_on_char ' ' line with _ :: pages :: _ -> 4096 * int_of_string pages | _ -> 0

(* Weights are new tensors in each step, and the loss is all that is looked at. *)
let test_training ~assign () =
  let n = 64 in
  let x = big (n * n) 0.01 in
  let x = E.reshape x [| n; n |] in
  let w = ref (E.reshape (big n 1.) [| n; 1 |]) in
  let rate = E.full c E.F64 [||] (E.Float 0.01) in
  let last = ref infinity and falls = ref true in
  let step () =
    let y = E.binary E.Matmul x !w in
    let loss = E.reduce E.Sum (E.binary E.Mul y y) ~axes:[| 0; 1 |] ~keep:false in
    let gradient = E.binary E.Matmul (E.permute x [| 1; 0 |]) y in
    let next = E.binary E.Sub !w (E.binary E.Mul gradient rate) in
    if assign then E.assign !w next else w := next;
    let value = E.to_float (E.item loss [||]) in
    if value >= !last then falls := false;
    last := value
  in
  let run steps =
    let start = Unix.gettimeofday () in
    for _ = 1 to steps do step () done;
    Unix.gettimeofday () -. start
  in
  ignore (run 500);
  Gc.compact ();
  let memory = resident () and live = (E.stats c).live_bytes in
  let first = run 700 in
  let later = run 700 in
  Gc.compact ();
  let how = if assign then "assigned" else "new" in
  check ("the loss falls, weights " ^ how) !falls;
  check (Printf.sprintf "resident memory grew by %d KB, weights %s" ((resident () - memory) / 1024) how)
    (resident () - memory < 100_000_000); (* the compiler may have been loaded meanwhile *)
  check "tensor memory does not grow" ((E.stats c).live_bytes < live + 2_000_000);
  check "operations do not pile up" ((E.stats c).pending < 3_000);
  check (Printf.sprintf "700 steps took %.3f s, then %.3f s" first later) (later < 3. *. first +. 0.3);
  Printf.printf "a training step that reads its loss, weights %s: %.1f us\n" how (1e6 *. later /. 700.)

(* The same without a product, so that nothing has to be stored: a read would compute all steps
   before it again. *)
let test_decay () =
  let w = ref (big 1000 1.) and rate = E.full c E.F64 [||] (E.Float 0.999) in
  let run steps =
    let start = Unix.gettimeofday () in
    for _ = 1 to steps do
      w := E.binary E.Mul !w rate;
      ignore (E.item (E.reduce E.Sum !w ~axes:[| 0 |] ~keep:false) [||])
    done;
    Unix.gettimeofday () -. start
  in
  ignore (run 500);
  let first = run 500 in
  let later = run 500 in
  check (Printf.sprintf "500 steps took %.3f s, then %.3f s" first later) (first +. later < 4.);
  check "steps do not pile up" ((E.stats c).pending < 1_000);
  Printf.printf "a step of a decay that is read: %.1f us\n" (1e6 *. later /. 500.)

(* ---- signals *)

(* Products that take seconds, all together. *)
let long () =
  let n = 400 in
  let m = E.reshape (big (n * n) 0.0025) [| n; n |] in
  let rec power m k = if k = 0 then m else power (E.binary E.Matmul m m) (k - 1) in
  power m 3000

let after seconds signal =
  ignore (Sys.signal Sys.sigalrm (Sys.Signal_handle (fun _ -> Unix.kill (Unix.getpid ()) signal)));
  ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = seconds })

let test_break () =
  Sys.catch_break true;
  let t = long () in
  let start = Unix.gettimeofday () in
  after 0.1 Sys.sigint;
  raises "Ctrl-C" (function Sys.Break -> true | _ -> false) (fun () -> E.realize c [| t |]);
  let late = Unix.gettimeofday () -. start -. 0.1 in
  Printf.printf "Sys.Break came %.0f ms after the signal\n" (1e3 *. late);
  check "soon" (late < 5.);
  Sys.catch_break false;
  check "the library goes on" (E.item (big 3 2.) [| 1 |] = E.Float 2.)

exception Mine

let test_handler () =
  ignore (Sys.signal Sys.sigusr1 (Sys.Signal_handle (fun _ ->
    if E.item (big 3 5.) [| 0 |] <> E.Float 5. then exit 3;
    raise Mine)));
  let t = long () in
  after 0.05 Sys.sigusr1;
  raises "an exception of a handler, which computes itself" (function Mine -> true | _ -> false)
    (fun () -> E.realize c [| t |])

(* ---- threads *)

let test_threads () =
  let counted = ref 0 and over = ref false in
  let other = Thread.create (fun () -> while not !over do incr counted; Thread.yield () done) () in
  let n = 700 in
  let m = E.reshape (big (n * n) 0.001) [| n; n |] in
  let before = !counted in
  E.realize c [| E.binary E.Matmul (E.binary E.Matmul m m) m |];
  let meanwhile = !counted - before in
  over := true;
  Thread.join other;
  check "other threads run meanwhile" (meanwhile > 0);
  let faults = ref 0 in
  let work k () =
    for i = 1 to 100 do
      let v = float ((100 * k) + i) in
      let t = E.binary E.Add (big 50 v) (big 50 1.) in
      if E.item t [| 7 |] <> E.Float (v +. 1.) then incr faults;
      if i mod 25 = 0 then Gc.full_major ()
    done
  in
  List.iter Thread.join (List.init 4 (fun k -> Thread.create (work k) ()));
  check "four threads" (!faults = 0)

let timed name f =
  let start = Unix.gettimeofday () in
  f ();
  Printf.printf "%s: %.2f s\n%!" name (Unix.gettimeofday () -. start)

let () =
  timed "stress" test_stress;
  timed "outliving" test_outliving;
  timed "import_outlives" test_import_outlives;
  timed "failure of shared memory" test_failure_of_shared;
  timed "honest_memory" test_honest_memory;
  timed "training" (test_training ~assign:false);
  timed "training that assigns" (test_training ~assign:true);
  timed "decay" test_decay;
  timed "break" test_break;
  timed "handler" test_handler;
  timed "threads" test_threads;
  finish ()
