(* SPDX-License-Identifier: ISC *)
(* Stands in for Nx_core: element types, views, and the interface of engines, written down from its
   description, as it is in 1.0.0~alpha3 (S) and as it is after that (Results). Nx's engines are
   checked against it, and tested through it. *)

module Dtype = struct
  type ('a, 'b) t = ('a, 'b) Nx_buffer.kind =
    | Float16 : (float, Nx_buffer.float16_elt) t
    | Float32 : (float, Bigarray.float32_elt) t
    | Float64 : (float, Bigarray.float64_elt) t
    | BFloat16 : (float, Nx_buffer.bfloat16_elt) t
    | Float8_e4m3 : (float, Nx_buffer.float8_e4m3_elt) t
    | Float8_e5m2 : (float, Nx_buffer.float8_e5m2_elt) t
    | Int4 : (int, Nx_buffer.int4_elt) t
    | UInt4 : (int, Nx_buffer.uint4_elt) t
    | Int8 : (int, Bigarray.int8_signed_elt) t
    | UInt8 : (int, Bigarray.int8_unsigned_elt) t
    | Int16 : (int, Bigarray.int16_signed_elt) t
    | UInt16 : (int, Bigarray.int16_unsigned_elt) t
    | Int32 : (int32, Bigarray.int32_elt) t
    | UInt32 : (int32, Nx_buffer.uint32_elt) t
    | Int64 : (int64, Bigarray.int64_elt) t
    | UInt64 : (int64, Nx_buffer.uint64_elt) t
    | Complex64 : (Complex.t, Bigarray.complex32_elt) t
    | Complex128 : (Complex.t, Bigarray.complex64_elt) t
    | Bool : (bool, Nx_buffer.bool_elt) t

  (* Another type than the kinds in 1.0.0~alpha3 *)
  let of_buffer_kind kind = kind

  type int32_elt = Bigarray.int32_elt
  type float64_elt = Bigarray.float64_elt
  type complex64_elt = Bigarray.complex64_elt
  type bool_elt = Nx_buffer.bool_elt
end

module Shape = struct
  let to_string shape = "[" ^ String.concat "," (Array.to_list (Array.map string_of_int shape)) ^ "]"
end

module View : sig
  type t

  val create : ?offset:int -> ?strides:int array -> int array -> t
  val shape : t -> int array
  val strides : t -> int array
  val offset : t -> int
  val is_c_contiguous : t -> bool
  val reshape : t -> int array -> t
  val expand : t -> int array -> t
  val permute : t -> int array -> t
  val shrink : t -> (int * int) array -> t
  val flip : t -> bool array -> t
end = struct
  type t = { shape : int array; strides : int array; offset : int }

  let in_order shape =
    let strides = Array.make (Array.length shape) 1 in
    for i = Array.length shape - 2 downto 0 do
      strides.(i) <- strides.(i + 1) * shape.(i + 1)
    done;
    strides

  let create ?(offset = 0) ?strides shape =
    { shape; offset; strides = (match strides with Some s -> s | None -> in_order shape) }

  let shape v = v.shape
  let strides v = v.strides
  let offset v = v.offset
  let is_c_contiguous v = v.strides = in_order v.shape

  let elements shape = Array.fold_left ( * ) 1 shape

  let reshape v shape =
    if elements shape <> elements v.shape then invalid_arg "reshape: another number of elements";
    if not (is_c_contiguous v) then invalid_arg "reshape: strides cannot express it";
    { v with shape; strides = in_order shape }

  let expand v shape =
    let strides = Array.mapi (fun i s -> if v.shape.(i) = 1 && shape.(i) <> 1 then 0 else s) v.strides in
    { v with shape; strides }

  let permute v axes =
    { v with shape = Array.map (fun a -> v.shape.(a)) axes;
             strides = Array.map (fun a -> v.strides.(a)) axes }

  let moved v by = v.offset + Array.fold_left ( + ) 0 (Array.mapi (fun i n -> n * v.strides.(i)) by)

  let shrink v bounds =
    if Array.length bounds <> Array.length v.shape
       || not (Array.for_all2 (fun (a, b) n -> 0 <= a && a < b && b <= n) bounds v.shape)
    then invalid_arg "shrink: bounds outside of the shape";
    if Array.for_all2 (fun (a, b) n -> a = 0 && b = n) bounds v.shape then v
    else
      { v with shape = Array.map (fun (a, b) -> b - a) bounds; offset = moved v (Array.map fst bounds) }

  let flip v axes =
    { v with
      strides = Array.mapi (fun i s -> if axes.(i) then -s else s) v.strides;
      offset = moved v (Array.mapi (fun i n -> if axes.(i) then n - 1 else 0) v.shape) }
end

module Backend_intf = struct
  exception
    Linalg_error of { op : string; kind : [ `Not_positive_definite | `Singular | `No_convergence ] }

  (* What both ask for in the same words *)
  module type Same = sig
    type ('a, 'b) t
    type context

    (* What a tensor is, and its memory *)
    val view : ('a, 'b) t -> View.t
    val dtype : ('a, 'b) t -> ('a, 'b) Dtype.t
    val context : ('a, 'b) t -> context
    val to_host : ('a, 'b) t -> ('a, 'b) Nx_buffer.t
    val create_context : unit -> context
    val buffer : context -> ('a, 'b) Dtype.t -> int array -> ('a, 'b) t
    val full : context -> ('a, 'b) Dtype.t -> int array -> 'a -> ('a, 'b) t
    val from_host : context -> ('a, 'b) Nx_buffer.t -> ('a, 'b) t

    (* Views, and what is moved *)
    val expand : ('a, 'b) t -> int array -> ('a, 'b) t
    val reshape : ('a, 'b) t -> int array -> ('a, 'b) t
    val permute : ('a, 'b) t -> int array -> ('a, 'b) t
    val shrink : ('a, 'b) t -> (int * int) array -> ('a, 'b) t
    val flip : ('a, 'b) t -> bool array -> ('a, 'b) t
    val pad : ('a, 'b) t -> (int * int) array -> 'a -> ('a, 'b) t
    val contiguous : ('a, 'b) t -> ('a, 'b) t
    val copy : ('a, 'b) t -> ('a, 'b) t
    val assign : ('a, 'b) t -> ('a, 'b) t -> unit

    (* Windows, linear algebra *)
    val unfold :
      ('a, 'b) t ->
      kernel_size:int array ->
      stride:int array ->
      dilation:int array ->
      padding:(int * int) array ->
      ('a, 'b) t

    val fold :
      ('a, 'b) t ->
      output_size:int array ->
      kernel_size:int array ->
      stride:int array ->
      dilation:int array ->
      padding:(int * int) array ->
      ('a, 'b) t

    val cholesky : upper:bool -> ('a, 'b) t -> ('a, 'b) t
    val qr : reduced:bool -> ('a, 'b) t -> ('a, 'b) t * ('a, 'b) t

    val svd :
      full_matrices:bool ->
      ('a, 'b) t ->
      ('a, 'b) t * (float, Dtype.float64_elt) t * ('a, 'b) t

    val triangular_solve :
      upper:bool -> transpose:bool -> unit_diag:bool -> ('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t
  end

  module type S = sig
    include Same

    (* Elementwise: into an output that is there *)
    val add : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val sub : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val mul : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val div : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val mod_ : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val pow : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val atan2 : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val max : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val min : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val xor : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val or_ : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val and_ : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val cmpeq : out:(bool, Dtype.bool_elt) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val cmpne : out:(bool, Dtype.bool_elt) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val cmplt : out:(bool, Dtype.bool_elt) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val cmple : out:(bool, Dtype.bool_elt) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val neg : out:('a, 'b) t -> ('a, 'b) t -> unit
    val recip : out:('a, 'b) t -> ('a, 'b) t -> unit
    val abs : out:('a, 'b) t -> ('a, 'b) t -> unit
    val sqrt : out:('a, 'b) t -> ('a, 'b) t -> unit
    val sign : out:('a, 'b) t -> ('a, 'b) t -> unit
    val exp : out:('a, 'b) t -> ('a, 'b) t -> unit
    val log : out:('a, 'b) t -> ('a, 'b) t -> unit
    val sin : out:('a, 'b) t -> ('a, 'b) t -> unit
    val cos : out:('a, 'b) t -> ('a, 'b) t -> unit
    val tan : out:('a, 'b) t -> ('a, 'b) t -> unit
    val asin : out:('a, 'b) t -> ('a, 'b) t -> unit
    val acos : out:('a, 'b) t -> ('a, 'b) t -> unit
    val atan : out:('a, 'b) t -> ('a, 'b) t -> unit
    val sinh : out:('a, 'b) t -> ('a, 'b) t -> unit
    val cosh : out:('a, 'b) t -> ('a, 'b) t -> unit
    val tanh : out:('a, 'b) t -> ('a, 'b) t -> unit
    val trunc : out:('a, 'b) t -> ('a, 'b) t -> unit
    val ceil : out:('a, 'b) t -> ('a, 'b) t -> unit
    val floor : out:('a, 'b) t -> ('a, 'b) t -> unit
    val round : out:('a, 'b) t -> ('a, 'b) t -> unit
    val erf : out:('a, 'b) t -> ('a, 'b) t -> unit
    val where : out:('a, 'b) t -> (bool, Dtype.bool_elt) t -> ('a, 'b) t -> ('a, 'b) t -> unit

    (* Along axes *)
    val reduce_sum : out:('a, 'b) t -> axes:int array -> keepdims:bool -> ('a, 'b) t -> unit
    val reduce_prod : out:('a, 'b) t -> axes:int array -> keepdims:bool -> ('a, 'b) t -> unit
    val reduce_max : out:('a, 'b) t -> axes:int array -> keepdims:bool -> ('a, 'b) t -> unit
    val reduce_min : out:('a, 'b) t -> axes:int array -> keepdims:bool -> ('a, 'b) t -> unit
    val argmax : out:(int32, Dtype.int32_elt) t -> axis:int -> keepdims:bool -> ('a, 'b) t -> unit
    val argmin : out:(int32, Dtype.int32_elt) t -> axis:int -> keepdims:bool -> ('a, 'b) t -> unit

    val associative_scan :
      out:('a, 'b) t -> axis:int -> op:[ `Sum | `Prod | `Max | `Min ] -> ('a, 'b) t -> unit

    val sort : out:('a, 'b) t -> axis:int -> descending:bool -> ('a, 'b) t -> unit

    val argsort :
      out:(int32, Dtype.int32_elt) t -> axis:int -> descending:bool -> ('a, 'b) t -> unit

    (* What is moved, and random bits *)
    val cat : out:('a, 'b) t -> ('a, 'b) t list -> axis:int -> unit
    val cast : out:('c, 'd) t -> ('a, 'b) t -> unit
    val threefry :
      out:(int32, Dtype.int32_elt) t ->
      (int32, Dtype.int32_elt) t ->
      (int32, Dtype.int32_elt) t ->
      unit

    val gather :
      out:('a, 'b) t -> ('a, 'b) t -> (int32, Dtype.int32_elt) t -> axis:int -> unit

    val scatter :
      ?mode:[ `Set | `Add ] ->
      ?unique_indices:bool ->
      ('a, 'b) t ->
      indices:(int32, Dtype.int32_elt) t ->
      updates:('a, 'b) t ->
      axis:int ->
      ('a, 'b) t

    (* Products, transforms, linear algebra *)
    val matmul : out:('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t -> unit
    val fft : ?out:(Complex.t, 'b) t -> (Complex.t, 'b) t -> axes:int array -> (Complex.t, 'b) t
    val ifft : ?out:(Complex.t, 'b) t -> (Complex.t, 'b) t -> axes:int array -> (Complex.t, 'b) t

    val rfft :
      ?out:(Complex.t, 'b) t ->
      (float, 'a) t ->
      dtype:(Complex.t, 'b) Dtype.t ->
      axes:int array ->
      (Complex.t, 'b) t

    val irfft :
      ?out:(float, 'b) t ->
      ?s:int array ->
      (Complex.t, 'a) t ->
      dtype:(float, 'b) Dtype.t ->
      axes:int array ->
      (float, 'b) t

    val eig :
      vectors:bool ->
      ('a, 'b) t ->
      (Complex.t, Dtype.complex64_elt) t * (Complex.t, Dtype.complex64_elt) t option

    val eigh :
      vectors:bool -> ('a, 'b) t -> (float, Dtype.float64_elt) t * ('a, 'b) t option
  end

  module type Results = sig
    include Same

    type ('a, 'b) unary := ('a, 'b) t -> ('a, 'b) t
    type ('a, 'b) binary := ('a, 'b) t -> ('a, 'b) t -> ('a, 'b) t
    type ('a, 'b) comparison := ('a, 'b) t -> ('a, 'b) t -> (bool, Dtype.bool_elt) t
    type index := (int32, Dtype.int32_elt) t
    type kind := [ `Sum | `Prod | `Max | `Min ]

    val add : ('a, 'b) binary
    val sub : ('a, 'b) binary
    val mul : ('a, 'b) binary
    val fdiv : ('a, 'b) binary
    val idiv : ('a, 'b) binary
    val mod_ : ('a, 'b) binary
    val pow : ('a, 'b) binary
    val atan2 : ('a, 'b) binary
    val max : ('a, 'b) binary
    val min : ('a, 'b) binary
    val xor : ('a, 'b) binary
    val or_ : ('a, 'b) binary
    val and_ : ('a, 'b) binary
    val matmul : ('a, 'b) binary
    val cmpeq : ('a, 'b) comparison
    val cmpne : ('a, 'b) comparison
    val cmplt : ('a, 'b) comparison
    val cmple : ('a, 'b) comparison
    val neg : ('a, 'b) unary
    val recip : ('a, 'b) unary
    val abs : ('a, 'b) unary
    val sqrt : ('a, 'b) unary
    val sign : ('a, 'b) unary
    val exp : ('a, 'b) unary
    val log : ('a, 'b) unary
    val sin : ('a, 'b) unary
    val cos : ('a, 'b) unary
    val tan : ('a, 'b) unary
    val asin : ('a, 'b) unary
    val acos : ('a, 'b) unary
    val atan : ('a, 'b) unary
    val sinh : ('a, 'b) unary
    val cosh : ('a, 'b) unary
    val tanh : ('a, 'b) unary
    val trunc : ('a, 'b) unary
    val ceil : ('a, 'b) unary
    val floor : ('a, 'b) unary
    val round : ('a, 'b) unary
    val erf : ('a, 'b) unary
    val where : (bool, Dtype.bool_elt) t -> ('a, 'b) binary
    val reduce : op:kind -> axes:int array -> ('a, 'b) unary
    val argmax : axis:int -> keepdims:bool -> ('a, 'b) t -> index
    val argmin : axis:int -> keepdims:bool -> ('a, 'b) t -> index
    val associative_scan : axis:int -> op:kind -> ('a, 'b) unary
    val sort : axis:int -> descending:bool -> ('a, 'b) unary
    val argsort : axis:int -> descending:bool -> ('a, 'b) t -> index
    val cat : ('a, 'b) t list -> axis:int -> ('a, 'b) t
    val cast : dtype:('c, 'd) Dtype.t -> ('a, 'b) t -> ('c, 'd) t
    val threefry : index -> index -> index
    val gather : ('a, 'b) t -> index -> axis:int -> ('a, 'b) t

    val scatter :
      mode:[ `Set | `Add ] ->
      unique_indices:bool ->
      ('a, 'b) t ->
      indices:index ->
      updates:('a, 'b) t ->
      axis:int ->
      ('a, 'b) t

    val fft : (Complex.t, 'b) t -> axes:int array -> (Complex.t, 'b) t
    val ifft : (Complex.t, 'b) t -> axes:int array -> (Complex.t, 'b) t
    val rfft : (float, 'a) t -> dtype:(Complex.t, 'b) Dtype.t -> axes:int array -> (Complex.t, 'b) t

    val irfft :
      ?s:int array -> (Complex.t, 'a) t -> dtype:(float, 'b) Dtype.t -> axes:int array -> (float, 'b) t

    val eigvals : ('a, 'b) t -> (Complex.t, Dtype.complex64_elt) t
    val eig : ('a, 'b) t -> (Complex.t, Dtype.complex64_elt) t * (Complex.t, Dtype.complex64_elt) t
    val eigvalsh : ('a, 'b) t -> (float, Dtype.float64_elt) t
    val eigh : ('a, 'b) t -> (float, Dtype.float64_elt) t * ('a, 'b) t
  end
end
