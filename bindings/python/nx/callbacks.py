# SPDX-License-Identifier: ISC
"""Functions of Python in programs that run on nx: `jax.pure_callback`, `jax.debug.print`,
`jax.debug.callback`, `jax.experimental.io_callback`, checks of `checkify`,
`jax.debug.inspect_array_sharding`, and `custom_partitioning`.

JAX writes a call of Python as it does for its own processor backend, whose parts nobody else can
reach. `install` has it write another one for nx, a number that the plugin knows a function by
(bindings/pjrt/callbacks.h); other backends go on as before. JAX's rules for `vmap`, `grad` and the
order of effects stay what they are.
"""

import atexit
import ctypes
import itertools
import os

__all__ = ["install"]

_SENTENCE = 256  # bytes of room for what happened

_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, _POINTERS, _POINTERS, ctypes.POINTER(ctypes.c_char)
)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_uint64)

_functions = {}  # those that the plugin may call, by the number that it calls them with
_numbers = itertools.count(1)
_library = _plugin = None


@_CALL
def _call(number, operands, results, said):
    try:
        _functions[number](operands, results)
        return 0
    except BaseException as e:  # nothing may pass through C
        text = _sentence(e)
        ctypes.memmove(said, text + b"\0", len(text) + 1)
        return 1


def _sentence(e):
    """What an exception says, as far as there is room; some cannot be asked."""
    try:
        said = f"{type(e).__name__}: {e}"
    except BaseException:
        said = type(e).__name__
    return said.encode(errors="backslashreplace")[: _SENTENCE - 1]


@_RELEASE
def _release(number):
    _functions.pop(number, None)


class _Announced:
    """A function that the plugin knows, for as long as programs may be compiled that name it."""

    def __init__(self, function):
        _load()
        number = next(_numbers)
        _functions[number] = function
        self.name = _plugin.nx_pjrt_callback_new(_call, _release, number)
        if self.name == 0:
            del _functions[number]
            raise MemoryError("nx: a callback cannot be announced")

    def __del__(self):
        if getattr(self, "name", 0):
            _plugin.nx_pjrt_callback_drop(self.name)


def _taken(address, aval):
    """A copy of an operand, which is gone when the call is over."""
    import numpy as np

    count = int(np.prod(aval.shape, dtype=np.int64)) * aval.dtype.itemsize
    if count == 0:
        return np.zeros(aval.shape, aval.dtype)
    memory = (ctypes.c_uint8 * count).from_address(address)
    return np.frombuffer(memory, np.uint8).copy().view(aval.dtype).reshape(aval.shape)


def _given(address, value, aval, i):
    import numpy as np
    from jax._src import dtypes

    value = dtypes.canonicalize_value(np.asarray(value))
    if value.shape != aval.shape or value.dtype != aval.dtype:
        raise RuntimeError(
            f"callback returned {value.dtype}{list(value.shape)} as result {i}, and it was said to"
            f" be {aval.dtype}{list(aval.shape)}"
        )
    value = np.ascontiguousarray(value)
    if value.nbytes:
        ctypes.memmove(address, value.ctypes.data, value.nbytes)


def _of_parts(callback, operands):
    """Operands are parts, whose extents stand in front of them."""
    import jax
    import numpy as np

    def function(given, taken):
        count = sum(len(aval.shape) for aval in operands)
        extents = iter(_taken(given[0], jax.ShapeDtypeStruct((count,), np.dtype(np.int64))))
        shapes = [tuple(int(next(extents)) for _ in aval.shape) for aval in operands]
        parts = [jax.ShapeDtypeStruct(s, a.dtype) for s, a in zip(shapes, operands)]
        callback(*[_taken(given[i + 1], part) for i, part in enumerate(parts)])

    return function


def _function(callback, operands, results):
    def function(given, taken):
        values = callback(*[_taken(given[i], aval) for i, aval in enumerate(operands)])
        if len(values) != len(results):
            raise RuntimeError(f"callback returned {len(values)} results of {len(results)}")
        for i, (value, aval) in enumerate(zip(values, results)):
            _given(taken[i], value, aval, i)

    return function


def _arrays(avals):
    """Types as programs have them: of keys their numbers."""
    import jax
    import numpy as np
    from jax._src import core, dtypes

    flat = [core.physical_aval(aval) for aval in avals]
    return [
        jax.ShapeDtypeStruct(a.shape, np.dtype(bool) if a.dtype == dtypes.float0 else a.dtype)
        for a in flat
    ]


def _only_device(sharding):
    """Which device of the program is to make the call; None: each."""
    from jax._src.lib import xla_client

    if sharding is None:
        return None
    if isinstance(sharding, xla_client.OpSharding):
        maximal = sharding.type == xla_client.OpSharding.Type.MAXIMAL
        return sharding.tile_assignment_devices[0] if maximal else None
    ids = sharding.shardings[0].logical_device_ids
    return ids[0] if ids else None


def _with_token(sharding):
    """What is noted of several results wants a place for a token."""
    from jax._src.sharding_impls import SdyArray, SdyArrayList

    if not isinstance(sharding, SdyArrayList):
        return sharding
    ids = sharding.shardings[0].logical_device_ids
    first = SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=ids)
    return SdyArrayList((first, *sharding.shardings))


def _sent(x, source, devices):
    """A value of one device in all of them."""
    import numpy as np
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    order = [source] + [i for i in range(devices) if i != source]
    groups = ir.DenseIntElementsAttr.get(np.array([order], np.int64))
    channel = hlo.ChannelHandle.get(1, 1)
    attributes = {"replica_groups": groups, "channel_handle": channel}
    # whose class takes one operand in JAX 0.10 and a list in JAX 0.11
    name = "stablehlo.collective_broadcast"
    return ir.Operation.create(name, [x.type], [x], attributes).result


def _is_ours(ctx):
    module = ctx.module_context
    if len(module.platforms) > 1:
        return False
    return is_nx(module.get_backend())


def _emitter(original):
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    def emit_python_callback(ctx, callback, token, operands, takes, gives, **options):
        if not _is_ours(ctx):
            return original(ctx, callback, token, operands, takes, gives, **options)
        parts = bool(options.get("partitioned"))
        if parts and gives:
            raise ValueError("Partitioned callback not supported with return values.")
        module = ctx.module_context
        if parts:
            announced = _Announced(_of_parts(callback, _arrays(takes)))
        else:
            announced = _Announced(_function(callback, _arrays(takes), _arrays(gives)))
        # also keeps JAX from storing the program: the number is this process's
        module.add_host_callback(lambda *_: announced)
        only = None if parts else _only_device(options.get("sharding"))
        place = " parts" if parts else "" if only is None else f" {only}"
        devices = getattr(module.axis_context, "num_devices", None) or 1
        types = [mlir.aval_to_ir_type(module, aval) for aval in gives]
        op = mlir.custom_call(
            "nx_host_callback",
            result_types=([hlo.TokenType.get()] if token else []) + types,
            operands=([token] if token else []) + list(operands),
            backend_config=f"{announced.name:016x}{place}",
            has_side_effect=options["has_side_effect"],
        )
        if parts:  # each device calls, with its parts of the operands
            op.attributes["nx.parts"] = ir.BoolAttr.get(True)
        elif options.get("sharding") is not None:
            note = _with_token(options["sharding"]) if token and gives else options["sharding"]
            mlir.set_sharding(module, op, note)
        results = list(op.results)
        if token:
            token, *results = results
        if only is not None and options["has_side_effect"] and devices > 1:
            results = [_sent(x, only, devices) for x in results]
        return results, token, announced

    return emit_python_callback


def _inspector(original):
    """What the plugin computes with lies whole in each device of the program, which is known when
    the program is written: parts are only what `shard_map` makes."""
    from jax._src import sharding_impls as known
    from jax._src.mesh import Mesh, thread_resources

    def lower(ctx, value, *, callback):
        if not _is_ours(ctx):
            return original(ctx, value, callback=callback)
        place = ctx.module_context.axis_context
        if isinstance(place, known.SPMDAxisContext):
            mesh, devices = place.mesh, place.mesh.devices.flat
        else:
            mesh, devices = thread_resources.env.physical_mesh, place.device_assignment
            if place.abstract_mesh is not None:
                names, sizes = place.abstract_mesh.axis_names, place.abstract_mesh.axis_sizes
                mesh = Mesh(_array(devices).reshape(sizes), names)
        if mesh.empty:
            callback(known.GSPMDSharding(tuple(devices), known.replicated_hlo_sharding))
        else:
            callback(known.NamedSharding(mesh, known.PartitionSpec()))
        return []

    return lower


def _partitioner(original):
    """A function of `custom_partitioning` in a program for several devices. JAX leaves its call to
    XLA, which asks Python how to divide it once it knows how operands lie. Here operands are whole
    in each device, so the function itself is written, as JAX does for one device and in
    `shard_map`."""
    from jax._src import core
    from jax._src.interpreters import mlir

    def lower(ctx, *values, call, **options):
        if not _is_ours(ctx):
            return original(ctx, *values, call=call, **options)
        return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)

    return lower


def _array(devices):
    import numpy as np

    return np.array(devices)


def is_nx(backend):
    """Whether a client of JAX's is the plugin's. JAX 0.10 puts a line before the version."""
    return any(line.startswith("nx ") for line in backend.platform_version.splitlines())


def _finder(original):
    """JAX puts the operands of a call on its processor backend, which is not there if only nx is
    chosen: then they go to nx's first device. This is what JAX itself calls, not jax.local_devices.
    """

    def local_devices(process_index=None, backend=None, host_id=None):
        try:
            return original(process_index, backend, host_id)
        except RuntimeError:
            found = original(process_index, None, host_id) if backend == "cpu" else []
            if not found or not is_nx(found[0].client):
                raise
            return found

    return local_devices


def _forget():
    """In a child of fork nobody does what JAX's tokens wait for, at its end too."""
    from jax._src import dispatch

    dispatch.runtime_tokens.clear()


def _end():
    from jax._src import dispatch

    try:
        dispatch.wait_for_tokens()
    finally:  # a failure is said once, not again by each of JAX's own functions that wait
        dispatch.runtime_tokens.clear()
        _plugin.nx_pjrt_callbacks_end()


def _load():
    global _plugin
    if _plugin is not None:
        return
    _plugin = ctypes.CDLL(_library)
    _plugin.nx_pjrt_callback_new.argtypes = [_CALL, _RELEASE, ctypes.c_uint64]
    _plugin.nx_pjrt_callback_new.restype = ctypes.c_uint64
    _plugin.nx_pjrt_callback_drop.argtypes = [ctypes.c_uint64]
    _plugin.nx_pjrt_callback_drop.restype = None
    _plugin.nx_pjrt_callbacks_end.argtypes = []
    _plugin.nx_pjrt_callbacks_end.restype = None
    atexit.register(_end)
    os.register_at_fork(after_in_child=_forget)


def install(library):
    """Has JAX write calls of Python for the plugin that lies there. Nothing is loaded before a
    program has one. Once is enough."""
    global _library
    from jax._src import callback, custom_partitioning, debugging, xla_bridge
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as interface

    installed, _library = _library is not None, str(library)
    if installed:
        return
    callback.emit_python_callback = _emitter(callback.emit_python_callback)
    interface.emit_python_callback = callback.emit_python_callback  # the name for others
    inspect = debugging._inspect_sharding_lowering_rule
    mlir.register_lowering(debugging.inspect_sharding_p, _inspector(inspect))
    lowering = custom_partitioning._custom_partitioning_lowering_rule
    mlir.register_lowering(custom_partitioning.custom_partitioning_p, _partitioner(lowering))
    xla_bridge.local_devices = _finder(xla_bridge.local_devices)
