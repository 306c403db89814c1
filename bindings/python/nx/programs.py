# SPDX-License-Identifier: ISC
"""Programs of JAX on their way to the plugin. jaxlib writes a program for a plugin as a portable
artifact: several passes over it, and four copies of its constants, which took most of the time to
the first step of a program that is simple or has large constants. `install` has JAX give nx the
text that MLIR prints, and the constants where they lie (bindings/pjrt/programs.h); what comes of it
is loaded as an executable from a cache would be, with the head that jaxlib writes in front of one.

That way go programs for one device, without functions of Python, tokens and layouts of their own.
All others, and what the plugin or jaxlib does not read so, go as before, and so do those of other
backends. Real functions of CHLO are nx's own on both ways: in programs that jaxlib writes they are
custom calls, or it would write its expansions, which are slower and less exact.
"""

import ctypes
import gc
import io
import re
import threading
from functools import cache

__all__ = ["install"]

_LARGE = 1024  # elements of a constant that is not printed
_ELIDED = b"dense_resource<__elided__>"
_MARK = b"nx program 1\n"

# Element types as jaxlib numbers them in the head.
_KINDS = {"i1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "ui8": 6, "ui16": 7, "ui32": 8, "ui64": 9,
          "f16": 10, "f32": 11, "f64": 12, "complex<f32>": 15, "bf16": 16, "complex<f64>": 18}
# Words of dialects that say nothing more of a program for one device, or what the text says as well
# as jaxlib's bytes (calls of LAPACK); others go the other way.
_PLAIN = {b"mhlo.": (b"mhlo.num_partitions", b"mhlo.num_replicas", b"mhlo.backend_config = ",
                     b"mhlo.frontend_attributes = {num_batch_dims = "),
          b"sdy.": (b"sdy.mesh @", b"sdy.sharding = ", b"#sdy.sharding<", b"sdy.sharding_rule = ",
                    b"#sdy.op_sharding_rule<")}


# Operations of CHLO that the plugin has, of real numbers.
_FUNCTIONS = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma",
              "erf", "erf_inv", "erfc", "lgamma", "mulhi", "next_after", "polygamma", "sinh",
              "square", "tan", "top_k", "zeta")
_FUNCTION = re.compile(rb"chlo\.(?:%s)[ (]([^\n]*)" % "|".join(_FUNCTIONS).encode())


class _Other(Exception):
    """The program goes the other way."""

_library = _plugin = None


def _load():
    global _plugin
    if _plugin is None:
        plugin = ctypes.CDLL(_library)
        addresses, sizes = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
        new = plugin.nx_pjrt_program_new
        new.argtypes = [ctypes.c_char_p, ctypes.c_size_t, addresses, sizes, ctypes.c_size_t,
                        ctypes.POINTER(ctypes.c_int32)]
        new.restype = ctypes.c_uint64
        plugin.nx_pjrt_program_drop.argtypes = [ctypes.c_uint64]
        plugin.nx_pjrt_program_drop.restype = None
        _plugin = plugin
    return _plugin


def _printed(program):
    return program.get_asm(
        binary=True, large_elements_limit=_LARGE, use_local_scope=True, assume_verified=True
    )


@cache
def _passes():
    from jaxlib.mlir import passmanager
    from jaxlib.mlir._mlir_libs import _stablehlo

    _stablehlo.register_stablehlo_passes()
    return passmanager.PassManager


def _call(op):
    """The custom call that takes the place of an operation of CHLO, before it."""
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    name, operands, here = op.name, list(op.operands), ir.InsertionPoint(op)
    if name == "chlo.top_k":  # a call whose number of elements is an operand
        i64 = ir.IntegerType.get_signless(64)
        k = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], i64),
                                           ir.IntegerAttr.get(i64, op.attributes["k"].value))
        name, operands = "stablehlo.dynamic_top_k", operands + [hlo.ConstantOp(k, ip=here).result]
    return hlo.CustomCallOp([r.type for r in op.results], operands, ir.StringAttr.get(name),
                            ip=here)


def _called(program):
    """A copy, whose functions of CHLO are custom calls."""
    from jax._src.lib.mlir import ir

    copy = program.clone()
    found = []

    def visit(op):
        plain, _, name = op.name.partition(".")
        if plain == "chlo" and name in _FUNCTIONS:
            if not isinstance(op.operands[0].type.element_type, ir.ComplexType):
                found.append(op)
        return ir.WalkResult.ADVANCE

    copy.operation.walk(visit)
    for op in found:
        with program.context, op.location:
            call = _call(op)
        for i in range(len(op.attributes)):  # shardings and the like
            if op.attributes[i].name != "k":
                call.operation.attributes[op.attributes[i].name] = op.attributes[i].attr
        for old, new in zip(op.results, call.operation.results):
            old.replace_all_uses_with(new)
        op.erase()
    return copy


def _expanded(program):
    """Other operations of CHLO as jaxlib expands them on the other way, so that both give the
    same."""
    passes = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
    copy = _called(program)
    manager = _passes().parse(passes, program.context)
    manager.enable_verifier(False)
    manager.run(copy.operation)
    return copy.operation


def _constants(program):
    """Those that the text leaves out, in its order: the memory of each."""
    import numpy as np
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    found = []

    def visit(op):
        value = op.attributes["value"]
        if not value.is_splat and len(value) > _LARGE:
            # an error for elements that Python's buffers have not
            found.append(np.frombuffer(memoryview(value).cast("B"), np.uint8))
        return ir.WalkResult.ADVANCE

    program.walk(visit, ir.WalkOrder.PRE_ORDER, op_class=hlo.ConstantOp)
    return found


_lent = []  # constants that the plugin reads, each with the number that says whether it does
_lending = threading.Lock()


def _give_back(phase="stop", _=None):
    """Gives up the constants that the plugin does not need any more."""
    if not _lent or phase != "stop" or not _lending.acquire(blocking=False):
        return
    try:
        lent, _lent[:] = _lent[:], []
        for pair in lent:
            if pair[0].value:
                _lent.append(pair)
            else:
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(pair))
    finally:
        _lending.release()


def _lend(lent, constants):
    """Keeps constants as long as the plugin needs them. They have a reference that no list has,
    since threads of the plugin may run when a process ends and Python empties its lists."""
    pair = lent, constants
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pair))
    with _lending:
        _lent.append(pair)
    if _give_back not in gc.callbacks:
        gc.callbacks.append(_give_back)


def _varint(n):
    written = bytearray()
    while n > 127:
        written.append(n & 127 | 128)
        n >>= 7
    written.append(n)
    return bytes(written)


def _field(number, value):
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _result(kind):
    from jax._src.lib.mlir import ir

    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise _Other
    number = _KINDS.get(str(kind.element_type))
    if number is None:
        raise _Other
    shape = b"".join(map(_varint, kind.shape))
    shape = _field(1, shape) if shape else b""
    return (_field(1, shape) + _field(2, _field(1, number)) + _field(4, b"device")
            + _field(6, shape))


def _head(module):
    """What jaxlib has in front of an executable: its results, and which arguments are donated."""
    from jax._src.lib.mlir import ir

    main = ir.SymbolTable(module.operation)["main"]
    said = _field(1, 3) + _field(2, b"pjrt_ifrt")
    for kind in main.type.results:
        said += _field(5, _result(kind))
    named = "arg_attrs" in main.attributes  # which jaxlib does not ask itself
    for attributes in main.arg_attrs if named else [()] * len(main.type.inputs):
        donated = "jax.buffer_donor" in attributes or "tf.aliasing_output" in attributes
        said += _field(6, _field(3, 1) if donated else b"")
    name = ir.StringAttr(module.operation.attributes["sym_name"]).value
    said += _field(7, name.encode()) + _field(9, b"")
    return _varint(len(said)) + said


def _number(module, text):
    """By which the plugin knows the program, which is printed as text; 0: it does not."""
    program = module.operation
    functions = sum(b"complex<" not in rest for rest in _FUNCTION.findall(text))
    if text.count(b"chlo.") != functions:
        program = _expanded(program)
        text = _printed(program)
        if text.count(b"chlo.") != text.count(b"@chlo."):
            raise _Other
    for dialect, words in _PLAIN.items():
        if text.count(dialect) != sum(map(text.count, words)):
            raise _Other
    if b"!stablehlo.token" in text:
        raise _Other
    constants = _constants(program) if _ELIDED in text else []
    n = len(constants)
    if n != text.count(_ELIDED):
        raise _Other
    addresses = (ctypes.c_void_p * n)(*[c.ctypes.data for c in constants])
    sizes = (ctypes.c_size_t * n)(*[c.nbytes for c in constants])
    lent = ctypes.c_int32(1)
    new = _load().nx_pjrt_program_new
    if n:  # before the plugin reads them: whatever interrupts this thread, they stay
        _lend(lent, constants)
    number = new(text, len(text), addresses, sizes, n, lent)
    if number == 0:
        lent.value = 0
    return number


def _is_single(options):
    build = options.executable_build_options
    return build.num_partitions == 1 and build.num_replicas == 1


def _handed_over(backend, module, text, devices, options):
    head = _head(module)
    number = _number(module, text)
    if number == 0:
        raise _Other
    try:
        named = head + _MARK + number.to_bytes(8, "little")
        return backend.deserialize_executable(named, devices, options)
    finally:
        _plugin.nx_pjrt_program_drop(number)


def _of_calls(module, text):
    """The module with custom calls for functions of CHLO; as it is if its text has none."""
    from jax._src.lib.mlir import ir

    try:
        if not _FUNCTION.search(text or _printed(module.operation)):
            return module
        written = io.BytesIO()
        _called(module.operation).operation.write_bytecode(written)
        return ir.Module.parse(written.getvalue(), module.context)
    except Exception:  # jaxlib expands them
        return module


def _directly(original):
    from . import callbacks

    def backend_compile_and_load(*arguments, **named):
        if len(arguments) == 5 and not named:  # as in the JAX that this is made for
            backend, module, devices, options, host_callbacks = arguments
            text = None
            if not host_callbacks and callbacks.is_nx(backend) and _is_single(options):
                try:
                    text = _printed(module.operation)
                    return _handed_over(backend, module, text, devices, options)
                except Exception:  # what is wrong with the program, the other way says as ever
                    pass
            if callbacks.is_nx(backend):
                arguments = (backend, _of_calls(module, text), *arguments[2:])
        return original(*arguments, **named)

    backend_compile_and_load.nx_direct = True
    return backend_compile_and_load


def install(library):
    """Has JAX do so for the plugin that lies there. Nothing is loaded before a program is compiled.
    Once is enough."""
    global _library
    from jax._src import compiler

    _library = str(library)
    original = getattr(compiler, "backend_compile_and_load", None)
    if original is not None and not hasattr(original, "nx_direct"):
        compiler.backend_compile_and_load = _directly(original)
