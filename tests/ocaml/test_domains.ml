(* SPDX-License-Identifier: ISC *)
(* OCaml 5: tensors, actions, finalisers and signals on several domains at once. Older versions have
   no domains, and do not compile this. *)

open Check
module E = Nx_engine

let c = E.default ()
let filled n value = E.unary E.Copy_of (E.full c E.F64 [| n |] (E.Float value))

let all_domains n work = List.map Domain.join (List.init n (fun k -> Domain.spawn (fun () -> work k)))

(* Products that take about a millisecond each, and little memory. *)
let products k =
  let n = 1000 in
  let m = E.reshape (filled (n * n) 0.001) [| n; n |] in
  let rec times v k = if k = 0 then v else times (E.binary E.Matmul m v) (k - 1) in
  times (E.reshape (filled n 1.) [| n; 1 |]) k

(* The first context of the process, from several domains at once. *)
let test_default () =
  let contexts = all_domains 4 (fun _ -> E.default ()) in
  check "one context" (List.for_all (( == ) c) contexts)

(* All that there is, with collections in the middle. *)
let test_work () =
  let faults = Atomic.make 0 in
  let expect condition = if not condition then Atomic.incr faults in
  let f = E.Function.capture c [| (E.F64, [| 20 |]) |] (fun x -> [| E.binary E.Add x.(0) x.(0) |]) in
  let work k =
    for i = 1 to 30 do
      let v = float ((100 * k) + i) in
      let t = E.binary E.Add (filled 20 v) (filled 20 1.) in
      expect (E.item t [| 7 |] = E.Float (v +. 1.));
      let a = E.map Bigarray.Float64 t in
      let part = Bigarray.Array1.sub a 5 10 in
      let shared = E.of_bigarray c (Bigarray.genarray_of_array1 part) in
      let twice = E.Function.call f [| t |] in
      expect (E.item twice.(0) [| 3 |] = E.Float (2. *. (v +. 1.)));
      Bigarray.Array1.set part 2 (-.v);
      expect (E.item shared [| 2 |] = E.Float (-.v) && E.item t [| 7 |] = E.Float (-.v));
      (match E.binary E.Add t (filled 3 0.) with
       | _ -> expect false
       | exception E.Error f -> expect (f.E.status = E.Invalid_argument));
      if i mod 15 = 0 then Gc.full_major () else if i mod 5 = 0 then Gc.minor ()
    done
  in
  ignore (all_domains 4 work : unit list);
  check "four domains" (Atomic.get faults = 0)

(* What one domain makes, another one drops, while a third collects. *)
let test_moving () =
  let box = Atomic.make [] and over = Atomic.make false in
  let collector = Domain.spawn (fun () -> while not (Atomic.get over) do Gc.full_major () done) in
  let consumer =
    Domain.spawn (fun () ->
      let seen = ref 0 and right = ref true in
      while not (Atomic.get over && Atomic.get box = []) do
        List.iter
          (fun (t, a, v) ->
            incr seen;
            if E.item t [| 1 |] <> E.Float v || Bigarray.Array1.get a 4 <> v then right := false)
          (Atomic.exchange box []);
        Domain.cpu_relax ()
      done;
      (!seen, !right))
  in
  for i = 1 to 300 do
    let t = filled 1000 (float i) in
    let entry = (t, E.map Bigarray.Float64 t, float i) in
    let rec put () =
      let old = Atomic.get box in
      if not (Atomic.compare_and_set box old (entry :: old)) then put ()
    in
    put ()
  done;
  Atomic.set over true;
  let seen, right = Domain.join consumer in
  Domain.join collector;
  check "values of another domain" (seen = 300 && right);
  for _ = 1 to 3 do Gc.full_major (); E.collect c done;
  check "all is given back" ((E.stats c).live_bytes < 200_000)

(* An action holds up neither other domains nor their collections, which want all domains to stop. *)
let test_blocking () =
  let started = Atomic.make false and over = Atomic.make false in
  let action =
    Domain.spawn (fun () ->
      let t = products 500 in
      Atomic.set started true;
      E.realize c [| t |];
      Atomic.set over true)
  in
  while not (Atomic.get started) do Domain.cpu_relax () done;
  let collections = ref 0 in
  while not (Atomic.get over) && !collections < 5 do
    Gc.full_major ();
    if not (Atomic.get over) then incr collections
  done;
  Domain.join action;
  check (Printf.sprintf "%d collections in an action" !collections) (!collections > 0)

(* A handler runs on whichever domain comes by first. One that raises for a domain that computes is
   called in its action, while the first domain waits. *)
let test_break () =
  let computing = Atomic.make (-1) in
  let handler _ = if (Domain.self () :> int) = Atomic.get computing then raise Sys.Break in
  Sys.set_signal Sys.sigint (Sys.Signal_handle handler);
  let action =
    Domain.spawn (fun () ->
      let t = products 5000 in
      Atomic.set computing (Domain.self () :> int);
      let start = Unix.gettimeofday () in
      match E.realize c [| t |] with
      | () -> None
      | exception Sys.Break ->
          Atomic.set computing (-1);
          Some (Unix.gettimeofday () -. start))
  in
  while Atomic.get computing < 0 do Unix.sleepf 0.01 done;
  let kill = Printf.sprintf "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; kill -INT %d; done" (Unix.getpid ()) in
  let shell = Unix.create_process "/bin/sh" [| "sh"; "-c"; kill |] Unix.stdin Unix.stdout Unix.stderr in
  let ended = Domain.join action in
  let rec wait () = try ignore (Unix.waitpid [] shell) with Unix.Unix_error (EINTR, _, _) -> wait () in
  wait ();
  Sys.set_signal Sys.sigint Sys.Signal_default;
  check "an action of another domain ends by a signal" (ended <> None);
  Printf.printf "it ended after %.2f s\n" (Option.value ended ~default:nan);
  check "the library goes on" (E.item (filled 3 2.) [| 1 |] = E.Float 2.)

(* The collector hears of memory that tensors hold, on all domains. How much it leaves is a share of
   the heap, so this runs while that is small. *)
let test_honest_memory () =
  let most = Atomic.make 0 in
  let work _ =
    for i = 1 to 400 do
      E.realize c [| filled 100_000 (float i) |];
      Atomic.set most (max (Atomic.get most) (E.stats c).live_bytes)
    done
  in
  ignore (all_domains 3 work : unit list);
  check (Printf.sprintf "960 MB of garbage held %d MB at most" (Atomic.get most / 1_000_000))
    (Atomic.get most < 600_000_000)

(* The program ends while another domain computes: with the status that it wants, and at once. *)
let ends_in_action () =
  let started = Atomic.make false in
  ignore
    (Domain.spawn (fun () ->
       let t = products 5000 in
       Atomic.set started true;
       E.realize c [| t |]));
  while not (Atomic.get started) do Domain.cpu_relax () done;
  Unix.sleepf 0.05;
  exit 7

let test_end () =
  let self = Sys.executable_name in
  let start = Unix.gettimeofday () in
  let child = Unix.create_process self [| self; "end" |] Unix.stdin Unix.stdout Unix.stderr in
  let _, status = Unix.waitpid [] child in
  check "a program that ends in an action" (status = Unix.WEXITED 7);
  Printf.printf "it ended in %.2f s\n" (Unix.gettimeofday () -. start)

let () =
  if Array.length Sys.argv > 1 then ends_in_action ();
  test_default ();
  test_honest_memory ();
  test_work ();
  test_moving ();
  test_blocking ();
  test_break ();
  test_end ();
  finish ()
