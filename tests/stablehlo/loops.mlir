// SPDX-License-Identifier: ISC
// Loops, some of whose values each step hands on as they are.

// One that the condition reads, one that the body reads, one that nobody does, among others that
// change, with values and a constant from around.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.add %n, %one : tensor<i32>
  %y = stablehlo.add %x, %x : tensor<4xi32>
  %l:6 = stablehlo.while(%a = %y, %i = %zero, %m = %four, %s = %zero, %u = %x, %k = %one) : tensor<4xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.add %s, %2 : tensor<i32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    %5 = stablehlo.multiply %k, %four : tensor<i32>
    stablehlo.return %a, %4, %m, %3, %u, %5 : tensor<4xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>
  }
  stablehlo.custom_call @check.expect_eq(%l#0, %y) : (tensor<4xi32>, tensor<4xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#1, %four) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#2, %four) : (tensor<i32>, tensor<i32>) -> ()
  %sum = stablehlo.constant dense<20> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%l#3, %sum) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#4, %x) : (tensor<4xi32>, tensor<4xi32>) -> ()
  %power = stablehlo.constant dense<256> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%l#5, %power) : (tensor<i32>, tensor<i32>) -> ()
  return
}

// -----

// Two that change places are none of these, nor is one that becomes another.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %i = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %l:5 = stablehlo.while(%k = %i, %a = %x, %b = %y, %c = %x, %d = %y) : tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %t = stablehlo.compare GT, %k, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %1 = stablehlo.subtract %k, %one : tensor<i32>
    stablehlo.return %1, %b, %a, %d, %d : tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
  stablehlo.custom_call @check.expect_eq(%l#1, %y) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#2, %x) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#3, %y) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#4, %y) : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}

// -----

// All stay, and there is no step. A loop in a loop takes what the outer one keeps.
func.func @main() {
  %x = stablehlo.constant dense<7> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %l:2 = stablehlo.while(%a = %x, %b = %one) : tensor<i32>, tensor<i32>
  cond {
    %t = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    stablehlo.return %a, %b : tensor<i32>, tensor<i32>
  }
  stablehlo.custom_call @check.expect_eq(%l#0, %x) : (tensor<i32>, tensor<i32>) -> ()
  %m:3 = stablehlo.while(%s = %one, %i = %one, %k = %x) : tensor<i32>, tensor<i32>, tensor<i32>
  cond {
    %t = stablehlo.compare LT, %i, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %n:3 = stablehlo.while(%j = %i, %q = %k, %r = %s) : tensor<i32>, tensor<i32>, tensor<i32>
    cond {
      %t = stablehlo.compare LT, %j, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %1 = stablehlo.add %j, %one : tensor<i32>
      %2 = stablehlo.add %r, %q : tensor<i32>
      stablehlo.return %1, %q, %2 : tensor<i32>, tensor<i32>, tensor<i32>
    }
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n#2, %3, %k : tensor<i32>, tensor<i32>, tensor<i32>
  }
  %sum = stablehlo.constant dense<148> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%m#0, %sum) : (tensor<i32>, tensor<i32>) -> ()
  return
}
