// SPDX-License-Identifier: ISC
// Functions and modules in general form, which what they hold need not be in; what MLIR prints is
// in printed_test.py.
"builtin.module"() <{sym_name = "general"}> ({
  "func.func"() <{function_type = (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>), sym_name = "two", sym_visibility = "private", arg_attrs = [{a.b = 1 : i32}, {}], res_attrs = [{}, {}]}> ({
  ^bb0(%a: tensor<2xf32>, %b: tensor<i32>):
    %s = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%s, %b) : (tensor<2xf32>, tensor<i32>) -> ()
  }) : () -> ()
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %k = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %r:2 = "func.call"(%x, %k) <{callee = @two}> : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
    %u = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
    stablehlo.custom_call @check.eq(%r#0, %u) : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.eq(%r#1, %k) : (tensor<i32>, tensor<i32>) -> ()
    return
  }
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
}) {mhlo.num_replicas = 1 : i32} : () -> ()
// -----
// As before properties: all attributes behind the regions. Blocks without a label, no module.
"func.func"() ({
  %x = "stablehlo.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  "stablehlo.custom_call"(%x, %x) {call_target_name = "check.eq"} : (tensor<2xf32>, tensor<2xf32>) -> ()
  "func.return"() : () -> ()
}) {function_type = () -> (), sym_name = "main"} : () -> ()
// -----
// A loop, a choice and a reduction: labels of blocks with and without arguments.
"builtin.module"() ({
^bb0:
  "func.func"() <{function_type = () -> (), sym_name = "main"}> ({
  ^bb0:
    %0 = "stablehlo.constant"() <{value = dense<[1, 2, 3, 4]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %3 = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%3) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %4:2 = "stablehlo.while"(%2, %1) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %5 = "stablehlo.compare"(%b, %2) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }, {
    ^bb1(%a: tensor<i32>, %b: tensor<i32>):
      %5 = "stablehlo.add"(%b, %a) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%a, %5) : (tensor<i32>, tensor<i32>) -> ()
    }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %6 = "stablehlo.compare"(%4#1, %2) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = "stablehlo.if"(%6) ({
    ^bb0:
      "stablehlo.return"(%4#1) : (tensor<i32>) -> ()
    }, {
      "stablehlo.return"(%1) : (tensor<i32>) -> ()
    }) : (tensor<i1>) -> tensor<i32>
    %8 = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    "stablehlo.custom_call"(%7, %8) <{call_target_name = "check.eq"}> : (tensor<i32>, tensor<i32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
// Aliases of types, of what they are of, and of attributes, some in terms of others.
!f = f32
!t = tensor<2x2x!f>
!c = tensor<complex<!f>>
!q = !quant.uniform<i8:f32, 0.5:3>
!go = (!t) -> !t
#some-values = dense<[[1.0, 2.0], [3.0, 4.0]]> : !t
#axes = array<i64: 1, 0>
#props = {permutation = #axes}
#bounds = #stablehlo.bounds<?, 4>
#0 = #stablehlo<comparison_direction LT>
module {
  "func.func"() <{function_type = !go, sym_name = "turn", sym_visibility = "private"}> ({
  ^bb0(%a: !t):
    %b = "stablehlo.transpose"(%a) <#props> : (!t) -> !t
    "func.return"(%b) : (!t) -> ()
  }) : () -> ()
  func.func private @bounded(%a: tensor<2x?xf32, #bounds>) -> tensor<2x?xf32, #bounds> {
    return %a : tensor<2x?xf32, #bounds>
  }
  func.func @main() {
    %x = stablehlo.constant #some-values
    %y = call @turn(%x) : (!t) -> !t
    %z = stablehlo.constant dense<[[1.0, 3.0], [2.0, 4.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.eq(%y, %z) : (!t, tensor<2x2xf32>) -> ()
    %l = "stablehlo.compare"(%y, %x) <{comparison_direction = #0}> : (!t, !t) -> tensor<2x2xi1>
    %w = stablehlo.constant dense<[[false, false], [true, false]]> : tensor<2x2xi1>
    stablehlo.custom_call @check.eq(%l, %w) : (tensor<2x2xi1>, tensor<2x2xi1>) -> ()
    %i = stablehlo.constant dense<(1.0, 2.0)> : !c
    %re = stablehlo.real %i : (!c) -> tensor<!f>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.custom_call @check.eq(%re, %one) : (tensor<!f>, tensor<!f>) -> ()
    %s = stablehlo.constant dense<[5, 7]> : tensor<2xi8>
    %q = stablehlo.bitcast_convert %s : (tensor<2xi8>) -> tensor<2x!q>
    %d = stablehlo.uniform_dequantize %q : (tensor<2x!q>) -> tensor<2xf32>
    %e = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    stablehlo.custom_call @check.eq(%d, %e) : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}
// -----
// Locations, of which those printed for readers look like what may follow.
#loc = [unknown]
#loc1 = "a"
#loc2 = /home/a b/x.py:3:4 to :9
#loc3 = "f"(#loc2)
#loc4 = "g"(#loc2)
 at "h"(<stdin>:1:2) at x.py:5:6 to 7:8
#loc5 = <"data">["a", x.py:1:2]
module {
  func.func private @f(%a: tensor<2xf32> "a", %b: tensor<2xf32> x.py:3:4) -> tensor<2xf32> {
    return %a : tensor<2xf32> /home/a b/x.py:3:4
  } [unknown]
  func.func @main() {
    %x = "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32> "f"(#loc3)
    "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32> "stablehlo.return"(x.py:3:4)
    "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32> "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %y = stablehlo.add %x, %x : tensor<2xf32> -:13:28 to :30
    %z = stablehlo.subtract %y, %x : tensor<2xf32> "f"(/a/x.py:1:2 to 3:4)
      at "g"(x.py:5:6)
    %w = func.call @f(%z, %z) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> <stdin>:2:3
    stablehlo.custom_call @check.eq(%w, %x) : (tensor<2xf32>, tensor<2xf32>) -> () loc(callsite("a" at "b"("c":1:2)))
    return loc(#loc4)
  } "jit"(#loc4)
} "m"
// -----
// refused: arguments of other types than function_type says
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  "func.return"(%a) : (tensor<2xf32>) -> ()
}) : () -> ()
// -----
// refused: the function has no body
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
}) : () -> ()
// -----
// refused: the function has no sym_name
"func.func"() <{function_type = () -> ()}> ({
  "func.return"() : () -> ()
}) : () -> ()
// -----
// refused: the function has no function_type
"func.func"() <{sym_name = "main"}> ({
  "func.return"() : () -> ()
}) : () -> ()
// -----
// refused: attributes of 1 arguments or results, of which there are 0
"func.func"() <{sym_name = "main", function_type = () -> (), arg_attrs = [{}]}> ({
  "func.return"() : () -> ()
}) : () -> ()
// -----
// refused: there are two functions @main
"builtin.module"() ({
  func.func private @main() { return }
  "func.func"() <{sym_name = "main", function_type = () -> ()}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
// -----
// refused: branches between blocks are not supported
"func.func"() <{sym_name = "main", function_type = () -> ()}> ({
  "cf.br"()[^bb1] : () -> ()
^bb1:
  "func.return"() : () -> ()
}) : () -> ()
// -----
// refused: line 4, column 1: branches between blocks are not supported
"func.func"() <{sym_name = "main", function_type = () -> ()}> ({
  "cf.br"() : () -> ()
^bb1:
  "func.return"() : () -> ()
}) : () -> ()
// -----
// refused: elements that are tensors
!t = tensor<2xf32>
func.func @main(%a: tensor<2x!t>) -> tensor<2x!t> {
  return %a : tensor<2x!t>
}
// -----
// refused: more than 64 levels nest
!a = !b
!b = !a
func.func @main(%a: tensor<2x!a>) -> tensor<2x!a> {
  return %a : tensor<2x!a>
}
// -----
// refused: properties that are no dictionary
#p = 3
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = "stablehlo.add"(%a, %a) <#p> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
