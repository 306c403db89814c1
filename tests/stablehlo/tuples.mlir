// SPDX-License-Identifier: ISC
// Tuples that go into functions, loops, branches and custom calls, and out of them.
func.func private @swap(%t: tuple<tensor<2xf32>, tensor<i32>>, %k: tensor<i32>) -> tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>> {
  %a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %n = stablehlo.add %b, %k : tensor<i32>
  %d = stablehlo.add %a, %a : tensor<2xf32>
  %u = stablehlo.tuple %d, %n : tuple<tensor<2xf32>, tensor<i32>>
  %r = stablehlo.tuple %b, %u : tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>
  return %r : tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>
}
func.func @main() {
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<3> : tensor<i32>
  %k = stablehlo.constant dense<4> : tensor<i32>
  %t = stablehlo.tuple %x, %i : tuple<tensor<2xf32>, tensor<i32>>
  %r = func.call @swap(%t, %k) : (tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>) -> tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>
  %a = stablehlo.get_tuple_element %r[0] : (tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>) -> tensor<i32>
  %u = stablehlo.get_tuple_element %r[1] : (tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>) -> tuple<tensor<2xf32>, tensor<i32>>
  %b = stablehlo.get_tuple_element %u[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %c = stablehlo.get_tuple_element %u[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %wb = stablehlo.constant dense<[3.0, -4.0]> : tensor<2xf32>
  %wc = stablehlo.constant dense<7> : tensor<i32>
  stablehlo.custom_call @check.eq(%a, %i) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.eq(%b, %wb) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.eq(%c, %wc) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %s = stablehlo.tuple %zero, %x : tuple<tensor<i32>, tensor<2xf32>>
  %t:2 = "stablehlo.while"(%s, %one) ({
  ^bb0(%p: tuple<tensor<i32>, tensor<2xf32>>, %q: tensor<i32>):
    %i = stablehlo.get_tuple_element %p[0] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<i32>
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%p: tuple<tensor<i32>, tensor<2xf32>>, %q: tensor<i32>):
    %i = stablehlo.get_tuple_element %p[0] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<i32>
    %v = stablehlo.get_tuple_element %p[1] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<2xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %odd = stablehlo.and %i, %one : tensor<i32>
    %is = stablehlo.compare EQ, %odd, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %b = "stablehlo.if"(%is) ({
      %w = stablehlo.multiply %v, %v : tensor<2xf32>
      %e = stablehlo.tuple %j, %w : tuple<tensor<i32>, tensor<2xf32>>
      stablehlo.return %e : tuple<tensor<i32>, tensor<2xf32>>
    }, {
      %w = stablehlo.add %v, %x : tensor<2xf32>
      %e = stablehlo.tuple %j, %w : tuple<tensor<i32>, tensor<2xf32>>
      stablehlo.return %e : tuple<tensor<i32>, tensor<2xf32>>
    }) : (tensor<i1>) -> tuple<tensor<i32>, tensor<2xf32>>
    stablehlo.return %b, %j : tuple<tensor<i32>, tensor<2xf32>>, tensor<i32>
  }) : (tuple<tensor<i32>, tensor<2xf32>>, tensor<i32>) -> (tuple<tensor<i32>, tensor<2xf32>>, tensor<i32>)
  %r = stablehlo.get_tuple_element %t#0[1] : (tuple<tensor<i32>, tensor<2xf32>>) -> tensor<2xf32>
  %w = stablehlo.constant dense<[5.0, 18.0]> : tensor<2xf32>
  stablehlo.custom_call @check.eq(%r, %w) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.eq(%t#1, %three) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
// A custom call has the elements; so has an optimization_barrier, and a function with no elements.
func.func private @none(%t: tuple<>) -> tuple<> { return %t : tuple<> }
func.func @main() {
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
  %t = stablehlo.tuple %x, %x : tuple<tensor<2xf32>, tensor<2xf32>>
  %u = stablehlo.optimization_barrier %t : tuple<tensor<2xf32>, tensor<2xf32>>
  %e = stablehlo.tuple : tuple<>
  %n = func.call @none(%e) : (tuple<>) -> tuple<>
  stablehlo.custom_call @check.eq(%u) : (tuple<tensor<2xf32>, tensor<2xf32>>) -> ()
  return
}
