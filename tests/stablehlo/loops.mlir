// SPDX-License-Identifier: ISC
// Loops, some of whose values each step hands on as they are, and a choice among many branches.

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

// -----

// 66 branches are two choices. An index that none has is the last.
func.func private @pick(%i: tensor<i32>, %x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.constant dense<20> : tensor<i32>
  %z = stablehlo.add %x, %y : tensor<i32>
  %r = "stablehlo.case"(%i) (
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> }, { stablehlo.return %x : tensor<i32> },
    { stablehlo.return %y : tensor<i32> }, { %d = stablehlo.add %x, %i : tensor<i32> stablehlo.return %d : tensor<i32> }, { stablehlo.return %z : tensor<i32> }
  ) : (tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}
func.func @main() {
  %x = stablehlo.constant dense<1> : tensor<i32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %r0 = func.call @pick(%i0, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<1> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r0, %w0) : (tensor<i32>, tensor<i32>) -> ()
  %i1 = stablehlo.constant dense<62> : tensor<i32>
  %r1 = func.call @pick(%i1, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w1 = stablehlo.constant dense<1> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r1, %w1) : (tensor<i32>, tensor<i32>) -> ()
  %i2 = stablehlo.constant dense<63> : tensor<i32>
  %r2 = func.call @pick(%i2, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w2 = stablehlo.constant dense<20> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r2, %w2) : (tensor<i32>, tensor<i32>) -> ()
  %i3 = stablehlo.constant dense<64> : tensor<i32>
  %r3 = func.call @pick(%i3, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w3 = stablehlo.constant dense<65> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r3, %w3) : (tensor<i32>, tensor<i32>) -> ()
  %i4 = stablehlo.constant dense<65> : tensor<i32>
  %r4 = func.call @pick(%i4, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w4 = stablehlo.constant dense<21> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r4, %w4) : (tensor<i32>, tensor<i32>) -> ()
  %i5 = stablehlo.constant dense<66> : tensor<i32>
  %r5 = func.call @pick(%i5, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w5 = stablehlo.constant dense<21> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r5, %w5) : (tensor<i32>, tensor<i32>) -> ()
  %i6 = stablehlo.constant dense<-1> : tensor<i32>
  %r6 = func.call @pick(%i6, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %w6 = stablehlo.constant dense<21> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r6, %w6) : (tensor<i32>, tensor<i32>) -> ()
  return
}
