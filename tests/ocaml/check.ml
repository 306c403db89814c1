(* SPDX-License-Identifier: ISC *)
(* What the tests of OCaml share. *)

let checks = ref 0
let faults = ref 0

let check name condition =
  incr checks;
  if not condition then begin
    incr faults;
    Printf.printf "FAULT: %s\n%!" name
  end

let near ?(tolerance = 1e-9) a b =
  a = b || (Float.is_nan a && Float.is_nan b)
  || Float.abs (a -. b) <= tolerance *. Float.max 1. (Float.max (Float.abs a) (Float.abs b))

let same name equal expected found =
  let show = if Array.length expected = Array.length found then "values" else "numbers of elements" in
  check
    (name ^ ": other " ^ show)
    (Array.length expected = Array.length found && Array.for_all2 equal expected found)

let raises name expected f =
  match f () with
  | _ -> check (name ^ ": no exception") false
  | exception e ->
      if not (expected e) then Printf.printf "%s: %s\n" name (Printexc.to_string e);
      check (name ^ ": another exception") (expected e)

(* The best of some batches, in nanoseconds: other programs make the rest slower. *)
let best ~batches ~steps f =
  let least = ref infinity in
  for _ = 1 to batches do
    let start = Unix.gettimeofday () in
    for _ = 1 to steps do f () done;
    least := Float.min !least ((Unix.gettimeofday () -. start) /. float steps)
  done;
  1e9 *. !least

let finish () =
  Printf.printf "%d checks, %d faults\n%!" !checks !faults;
  exit (if !faults = 0 then 0 else 1)
