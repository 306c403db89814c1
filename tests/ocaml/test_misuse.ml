(* SPDX-License-Identifier: ISC *)
(* What programs do wrong, or at a bad moment: arguments that mean nothing, exceptions out of
   callbacks and finalisers, arrays that change while an action reads them, ends in the middle of work. *)

open Check
module E = Nx_engine

let c = E.default ()
let filled n value = E.unary E.Copy_of (E.full c E.F64 [| n |] (E.Float value))
let fine name = check (name ^ ", and the library goes on") (E.item (filled 3 2.) [| 1 |] = E.Float 2.)

let refused = function
  | Invalid_argument _ | E.Error { status = Invalid_argument | Unsupported_dtype | Index_out_of_range; _ } -> true
  | _ -> false

let test_arguments () =
  let x = filled 6 1. in
  let m = E.reshape x [| 2; 3 |] in
  let far = 1 lsl 32 (* the last 32 bits are those of 0 *) in
  let window = { E.kernel = [| 2 |]; stride = [| 1 |]; dilation = [| 1 |]; before = [| 0 |]; after = [| 0 |] } in
  let other = E.full (E.create_context ()) E.F64 [| 6 |] (E.Float 1.) in
  List.iter
    (fun (name, f) -> raises name refused f)
    [ ("argmax along a far axis", fun () -> E.argmax x ~axis:far ~keep:false);
      ("argmin along a far axis", fun () -> E.argmin x ~axis:(-far) ~keep:false);
      ("sort along a far axis", fun () -> E.sort x ~axis:far ~descending:false);
      ("argsort along a far axis", fun () -> E.argsort x ~axis:far ~descending:false);
      ("a scan along a far axis", fun () -> E.scan E.Sum x ~axis:far);
      ("a sum along a far axis", fun () -> E.reduce E.Sum x ~axes:[| far |] ~keep:false);
      ("cat along a far axis", fun () -> E.cat [| x; x |] ~axis:far);
      ("gather along a far axis", fun () -> E.gather x (E.full c E.I32 [| 1 |] (E.Int 0L)) ~axis:far);
      ("permute by far axes", fun () -> E.permute m [| far; far + 1 |]);
      ("fft along a far axis", fun () -> E.fft (E.cast x E.C128) ~axes:[| far |] ~inverse:false);
      ("a sum along an axis that is not there", fun () -> E.reduce E.Sum x ~axes:[| 1 |] ~keep:false);
      ("cat of nothing", fun () -> E.cat [||] ~axis:0);
      ("an axis twice", fun () -> E.permute m [| 0; 0 |]);
      ("a negative extent", fun () -> E.empty c E.F64 [| -1 |]);
      ("more elements than there are numbers", fun () -> E.empty c E.F64 [| max_int; max_int |]);
      ("reshape to another number", fun () -> E.reshape x [| 4 |]);
      ("shrink beyond the end", fun () -> E.shrink x [| 0 |] [| 7 |]);
      ("shrink with lists of two lengths", fun () -> E.shrink x [| 0 |] [| 1; 2 |]);
      ("strides beyond the storage", fun () -> E.as_strided x [| 7 |] [| 1 |] 0);
      ("strides before the storage", fun () -> E.as_strided x [| 1 |] [| 1 |] (-1));
      ("strides of another rank", fun () -> E.as_strided x [| 1 |] [| 1; 1 |] 0);
      ("strides that overflow", fun () -> E.as_strided x [| 3 |] [| max_int |] 0);
      ("expand of an axis of 6", fun () -> E.expand x [| 7 |]);
      ("pad with lists of two lengths", fun () -> E.pad x [| 0 |] [||] (E.Float 0.));
      ("two types", fun () -> E.binary E.Add x (E.cast x E.F32));
      ("two shapes", fun () -> E.binary E.Add x (filled 5 1.));
      ("two contexts", fun () -> E.binary E.Add x other);
      ("a condition of numbers", fun () -> E.where x x x);
      ("an index of floats", fun () -> E.gather x x ~axis:0);
      ("a window of lists of two lengths", fun () -> E.unfold x { window with stride = [||] });
      ("a root of what is not square", fun () -> E.cholesky m ~upper:false);
      ("a product of vectors of two lengths", fun () -> E.binary E.Matmul m m) ];
  List.iter
    (fun (name, f) -> raises name refused f)
    [ ("too few indices", fun () -> ignore (E.item m [| 0 |]));
      ("an assignment of another shape", fun () -> E.assign x (filled 5 1.));
      ("an assignment of another type", fun () -> E.assign x (E.cast x E.F32));
      ("an assignment of another context", fun () -> E.assign x other);
      ("a tensor of another context", fun () -> E.realize c [| other |]);
      ("a part of another kind", fun () -> ignore (E.map Bigarray.Int32 x));
      ("elements of another number", fun () ->
        E.write x (Bigarray.Genarray.create Bigarray.Float64 Bigarray.c_layout [| 7 |])) ];
  fine "arguments"

(* A tensor of 2^57 elements can be recorded. *)
let test_huge () =
  let huge = E.full c E.F64 [| 1 lsl 57 |] (E.Float 1.) in
  let exhausted = function E.Error { status = Out_of_memory; _ } -> true | _ -> false in
  raises "memory that no machine has" exhausted (fun () -> E.realize c [| E.unary E.Exp huge |]);
  raises "an element of it" exhausted (fun () -> E.item (E.binary E.Add huge huge) [| 5 |]);
  fine "no memory"

(* Handles are abstract: neither compared nor written. *)
let test_abstract () =
  let x = filled 2 1. in
  let abstract = function Invalid_argument _ -> true | _ -> false in
  raises "equality of tensors" abstract (fun () -> x = filled 2 1.);
  raises "a tensor that is marshalled" abstract (fun () -> Marshal.to_string x []);
  check "a hash" (Hashtbl.hash x = Hashtbl.hash x);
  let copy : (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array1.t =
    Marshal.from_string (Marshal.to_string (E.map Bigarray.Float64 x) []) 0
  in
  Bigarray.Array1.set copy 0 5.;
  check "memory that is marshalled is a copy" (E.item x [| 0 |] = E.Float 1.)

let test_context_dies () =
  let make () =
    let own = E.create_context ~threads:1 () in
    let x = E.unary E.Exp (E.full own E.F64 [| 4 |] (E.Float 0.)) in
    (E.map Bigarray.Float64 (E.unary E.Neg x), E.binary E.Add x x)
  in
  let memory, x = make () in
  for _ = 1 to 3 do Gc.compact () done;
  check "a tensor without its context's handle" (E.item x [| 3 |] = E.Float 2.);
  check "memory without it" (Bigarray.Array1.get memory 3 = -1.)

(* ---- callbacks *)

exception Mine

let test_captures () =
  let unbound = function E.Error { status = Unbound; _ } -> true | _ -> false in
  let one = [| (E.F64, [| 2 |]) |] in
  raises "a body that looks at its argument" unbound (fun () ->
    E.Function.capture c one (fun x -> ignore (E.item x.(0) [| 0 |]); x));
  raises "a body that maps it" unbound (fun () ->
    E.Function.capture c one (fun x -> ignore (E.map Bigarray.Float64 x.(0)); x));
  let kept = ref [||] in
  let f = E.Function.capture c one (fun x -> kept := x; [| E.unary E.Neg x.(0) |]) in
  raises "a placeholder that is kept" unbound (fun () -> E.item (E.unary E.Exp !kept.(0)) [| 0 |]);
  raises "a call with too few" refused (fun () -> E.Function.call f [||]);
  let said = function
    | E.Error { status = Unbound; operation = "call"; sentence; _ } ->
        String.length sentence > 50 && String.sub sentence 0 17 = "call: an argument"
    | _ -> false
  in
  raises "a call in a capture" said (fun () -> E.Function.capture c one (E.Function.call f));
  raises "a call with another type" refused (fun () ->
    E.Function.call f [| E.full c E.F32 [| 2 |] (E.Float 1.) |]);
  raises "a capture in a capture that raises" (( = ) Mine) (fun () ->
    E.Function.capture c one (fun _ -> ignore (E.Function.capture c one (fun _ -> raise Mine)); [||]));
  check "a function afterwards" (E.item (E.Function.call f [| filled 2 3. |]).(0) [| 1 |] = E.Float (-3.));
  kept := [||];
  fine "captures";
  List.iter
    (fun (dtype, given, is) ->
      check "a number that becomes an element" (E.item (E.full c dtype [||] given) [||] = is))
    [ (E.I8, E.Int 300L, E.Int 44L); (E.I8, E.Float (-1.7), E.Int (-1L)); (E.I8, E.Float 1e3, E.Int 127L);
      (E.I8, E.Float nan, E.Int 0L); (E.Bool, E.Int 2L, E.Int 1L);
      (E.F64, E.Complex { re = 1.; im = 2. }, E.Float 1.) ]

(* The action is short of memory, so it collects, and that runs finalisers. *)
let test_finalisers () =
  let limit = 8 lsl 20 in
  let small = E.create_context ~memory_limit:limit () in
  let too_large () = E.realize small [| E.unary E.Exp (E.full small E.F64 [| limit |] (E.Float 1.)) |] in
  let garbage f = Gc.full_major (); Gc.finalise f (ref (Sys.opaque_identity 0)) in
  for _ = 1 to 3 do
    garbage (fun _ -> raise Mine);
    raises "a finaliser that raises" (( = ) Mine) too_large
  done;
  let exhausted = function E.Error { status = Out_of_memory; _ } -> true | _ -> false in
  let tensors = [| E.unary E.Exp (E.full small E.F64 [| limit |] (E.Float 1.)) |] in
  (* The action tries again after that, with what was in the array. *)
  garbage (fun _ -> tensors.(0) <- filled 1 0.; Gc.full_major (); Gc.full_major ());
  raises "an array that a finaliser changes" exhausted (fun () -> E.realize small tensors);
  let computed = ref false in
  garbage (fun _ -> computed := E.item (filled 3 5.) [| 0 |] = E.Float 5.);
  raises "memory that is not there" exhausted too_large;
  check "a finaliser that computes" !computed;
  fine "finalisers"

(* ---- signals, in whatever waits *)

let product n = E.reshape (filled (n * n) (1. /. float n)) [| n; n |]

let long () =
  let m = product 400 in
  let rec power m k = if k = 0 then m else power (E.binary E.Matmul m m) (k - 1) in
  power m 3000

let test_break () =
  let interrupt _ = Unix.kill (Unix.getpid ()) Sys.sigint in
  let function_of_one =
    let rec power m k = if k = 0 then m else power (E.binary E.Matmul m m) (k - 1) in
    E.Function.capture c [| (E.F64, [| 1000; 1000 |]) |] (fun x -> [| power x.(0) 150 |])
  in
  let argument = product 1000 in
  E.realize c [| argument |];
  Sys.catch_break true;
  List.iter
    (fun (name, prepare) ->
      let act = prepare () in
      ignore (Sys.signal Sys.sigalrm (Sys.Signal_handle interrupt));
      let start = Unix.gettimeofday () in
      ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = 0.05 });
      raises ("Ctrl-C in " ^ name) (( = ) Sys.Break) act;
      check ("soon, in " ^ name) (Unix.gettimeofday () -. start < 5.))
    [ ("item", fun () -> let t = long () in fun () -> ignore (E.item t [| 0; 0 |]));
      ("read", fun () -> let t = long () in fun () -> ignore (E.read Bigarray.Float64 t));
      ("map", fun () -> let t = long () in fun () -> ignore (E.map Bigarray.Float64 t));
      ("write", fun () -> let t = long () in fun () ->
        let row = Bigarray.Genarray.create Bigarray.Float64 Bigarray.c_layout [| 400 |] in
        E.write (E.shrink t [| 0; 0 |] [| 1; 400 |]) row);
      ("call", fun () () -> ignore (E.Function.call function_of_one [| argument |]));
      ("recording", fun () -> let t = long () in fun () ->
        E.set_limits ~operations:1 ();
        Fun.protect ~finally:(fun () -> E.set_limits ()) (fun () -> ignore (E.unary E.Neg t))) ];
  Sys.catch_break false;
  fine "Ctrl-C"

(* ---- threads *)

(* What is in the array when the action begins is computed, whatever it is afterwards. *)
let test_array_changes () =
  for i = 1 to 5 do
    let m = product 300 in
    let rec power m k = if k = 0 then m else power (E.binary E.Matmul m m) (k - 1) in
    let tensors = Array.init 20 (fun k -> power m (k + i)) in
    let other = Thread.create (fun () ->
      Thread.delay 0.003;
      Array.fill tensors 0 20 m;
      Gc.compact ()) () in
    E.realize c tensors;
    Thread.join other;
    check "an array that changes meanwhile" (E.item tensors.(19) [| 0; 0 |] <> E.Float 0.)
  done;
  fine "arrays"

(* ---- ends *)

let ends how =
  ignore (Thread.create (fun () -> E.realize c [| long () |]) ());
  Thread.delay 0.1;
  match how with
  | "exit" -> exit 7
  | "raise" -> raise Mine
  | "handler" ->
      ignore (Sys.signal Sys.sigalrm (Sys.Signal_handle (fun _ -> exit 8)));
      ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = 0.05 });
      E.realize c [| long () |]
  | _ -> Unix.kill (Unix.getpid ()) Sys.sigint; Thread.delay 5.

let test_ends () =
  let self = Sys.executable_name in
  let nothing = Unix.openfile "/dev/null" [ Unix.O_WRONLY ] 0 in
  List.iter
    (fun (how, expected) ->
      let start = Unix.gettimeofday () in
      let child = Unix.create_process self [| self; how |] Unix.stdin Unix.stdout nothing in
      let _, status = Unix.waitpid [] child in
      check ("the status of a program that ends by " ^ how) (status = expected);
      check ("it ends soon by " ^ how) (Unix.gettimeofday () -. start < 10.))
    [ ("exit", Unix.WEXITED 7); ("raise", Unix.WEXITED 2); ("handler", Unix.WEXITED 8);
      ("signal", Unix.WSIGNALED Sys.sigint) ];
  Unix.close nothing

(* A child has what its parent has, and can go on with it. *)
let test_fork () =
  let x = filled 10 3. in
  let y = E.unary E.Neg x in
  match Unix.fork () with
  | 0 ->
      let right = E.item (E.binary E.Add x y) [| 4 |] = E.Float 0. && E.item y [| 2 |] = E.Float (-3.) in
      Gc.compact ();
      Unix._exit (if right then 0 else 1)
  | child ->
      let _, status = Unix.waitpid [] child in
      check "a child" (status = Unix.WEXITED 0);
      check "its parent" (E.item y [| 2 |] = E.Float (-3.))

let timed name f =
  let start = Unix.gettimeofday () in
  f ();
  Printf.printf "%s: %.2f s\n%!" name (Unix.gettimeofday () -. start)

let () =
  if Array.length Sys.argv > 1 then ends Sys.argv.(1);
  timed "fork" test_fork;
  timed "arguments" test_arguments;
  timed "huge" test_huge;
  timed "abstract" test_abstract;
  timed "context_dies" test_context_dies;
  timed "captures" test_captures;
  timed "finalisers" test_finalisers;
  timed "break" test_break;
  timed "array_changes" test_array_changes;
  timed "ends" test_ends;
  finish ()
