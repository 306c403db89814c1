// SPDX-License-Identifier: ISC
// What programs exchange while they run: with the host of the tests (exchange.c), and with each
// other. backend_config: replicas, partitions, the function of each, and functions that feed.
func.func @feed() -> tensor<3xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  return %c : tensor<3xf32>
}
func.func @program(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi4>) {
  %t0 = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.infeed"(%t0) {infeed_config = "first"} : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
  %s = stablehlo.add %a#0, %x : tensor<3xf32>
  %i = stablehlo.convert %s : (tensor<3xf32>) -> tensor<3xi4>
  %t1 = "stablehlo.outfeed"(%s, %i, %a#1) {outfeed_config = ""} : (tensor<3xf32>, tensor<3xi4>, !stablehlo.token) -> !stablehlo.token
  %b:3 = "stablehlo.infeed"(%t1) : (!stablehlo.token) -> (tensor<3xf32>, tensor<3xi4>, !stablehlo.token)
  return %a#0, %b#0, %b#1 : tensor<3xf32>, tensor<3xf32>, tensor<3xi4>
}
func.func @main() {
  %x = stablehlo.constant dense<[0.5, -4.0, 0.25]> : tensor<3xf32>
  %r:3 = stablehlo.custom_call @interpreter.run_parallel(%x) {backend_config = "1 1 program feed"} : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi4>)
  %w0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %w1 = stablehlo.constant dense<[1.5, -2.0, 3.25]> : tensor<3xf32>
  %w2 = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi4>
  stablehlo.custom_call @check.expect_eq(%r#0, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %w1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#2, %w2) : (tensor<3xi4>, tensor<3xi4>) -> ()
  return
}
// -----
// In a loop, and in a branch of it; nothing that is computed needs what is sent.
func.func @program(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2xf4E2M1FN>) {
  %t = stablehlo.create_token : !stablehlo.token
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %small = stablehlo.constant dense<[1.5, -6.0]> : tensor<2xf4E2M1FN>
  %l:2 = stablehlo.while(%i = %zero, %k = %t) : tensor<i32>, !stablehlo.token
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %odd = stablehlo.and %i, %one : tensor<i32>
    %is = stablehlo.compare EQ, %odd, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %u = "stablehlo.if"(%is) ({
      %v = "stablehlo.send"(%i, %k) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 2>, is_host_transfer = true} : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      stablehlo.return %v : !stablehlo.token
    }, {
      stablehlo.return %k : !stablehlo.token
    }) : (tensor<i1>) -> !stablehlo.token
    stablehlo.return %j, %u : tensor<i32>, !stablehlo.token
  }
  %w = "stablehlo.send"(%small, %l#1) {channel_handle = #stablehlo.channel_handle<handle = 8, type = 2>, is_host_transfer = true} : (tensor<2xf4E2M1FN>, !stablehlo.token) -> !stablehlo.token
  %a:2 = "stablehlo.recv"(%w) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  %b:2 = "stablehlo.recv"(%a#1) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  %c:2 = "stablehlo.recv"(%b#1) {channel_handle = #stablehlo.channel_handle<handle = 8, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf4E2M1FN>, !stablehlo.token)
  return %a#0, %b#0, %l#0, %c#0 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<2xf4E2M1FN>
}
func.func @main() {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:4 = stablehlo.custom_call @interpreter.run_parallel(%n) {backend_config = "1 1 program"} : (tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2xf4E2M1FN>)
  %w0 = stablehlo.constant dense<1> : tensor<i32>
  %w1 = stablehlo.constant dense<3> : tensor<i32>
  %w3 = stablehlo.constant dense<[1.5, -6.0]> : tensor<2xf4E2M1FN>
  stablehlo.custom_call @check.expect_eq(%r#0, %w0) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %w1) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#2, %n) : (tensor<i32>, tensor<i32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#3, %w3) : (tensor<2xf4E2M1FN>, tensor<2xf4E2M1FN>) -> ()
  return
}
// -----
// A ring of three partitions, all of one program: two values each, sent before they are received.
func.func @program(%x: tensor<2xi32>, %y: tensor<f32>) -> (tensor<2xi32>, tensor<f32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %y, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>} : (tensor<2xi32>, tensor<f32>, !stablehlo.token) -> !stablehlo.token
  %r:3 = "stablehlo.recv"(%s) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>} : (!stablehlo.token) -> (tensor<2xi32>, tensor<f32>, !stablehlo.token)
  return %r#0, %r#1 : tensor<2xi32>, tensor<f32>
}
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %c = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %d = stablehlo.constant dense<0.5> : tensor<f32>
  %e = stablehlo.constant dense<1.5> : tensor<f32>
  %f = stablehlo.constant dense<2.5> : tensor<f32>
  %r:6 = stablehlo.custom_call @interpreter.run_parallel(%a, %d, %b, %e, %c, %f) {backend_config = "1 3 program program program"} : (tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>) -> (tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>, tensor<2xi32>, tensor<f32>)
  stablehlo.custom_call @check.expect_eq(%r#0, %c) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %f) : (tensor<f32>, tensor<f32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#2, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#4, %b) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#5, %e) : (tensor<f32>, tensor<f32>) -> ()
  return
}
// -----
// A chain of three, each of which receives, adds, and sends on.
func.func @program(%x: tensor<2xi32>) -> tensor<2xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %y = stablehlo.add %r#0, %x : tensor<2xi32>
  %s = "stablehlo.send"(%y, %r#1) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  return %y : tensor<2xi32>
}
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %c = stablehlo.constant dense<[100, 200]> : tensor<2xi32>
  %r:3 = stablehlo.custom_call @interpreter.run_parallel(%a, %b, %c) {backend_config = "1 3 program program program"} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  %w1 = stablehlo.constant dense<[11, 22]> : tensor<2xi32>
  %w2 = stablehlo.constant dense<[111, 222]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%r#0, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %w1) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#2, %w2) : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}
// -----
// Two programs, replicas, and a third that is in no pair; one has no inputs.
func.func @giver(%x: tensor<2xf8E3M4>) {
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<2xf8E3M4>, !stablehlo.token) -> !stablehlo.token
  return
}
func.func @taker() -> tensor<2xf8E3M4> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2xf8E3M4>, !stablehlo.token)
  return %r#0 : tensor<2xf8E3M4>
}
func.func @main() {
  %x = stablehlo.constant dense<[1.5, -0.25]> : tensor<2xf8E3M4>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf8E3M4>
  %r:2 = stablehlo.custom_call @interpreter.run_parallel(%x) {backend_config = "3 1 taker taker giver"} : (tensor<2xf8E3M4>) -> (tensor<2xf8E3M4>, tensor<2xf8E3M4>)
  stablehlo.custom_call @check.expect_eq(%r#0, %x) : (tensor<2xf8E3M4>, tensor<2xf8E3M4>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %zero) : (tensor<2xf8E3M4>, tensor<2xf8E3M4>) -> ()
  return
}
// -----
// One process, which sends to itself.
func.func @main() {
  %x = stablehlo.constant dense<[1.5, -0.25]> : tensor<2xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %r:2 = "stablehlo.recv"(%s) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  stablehlo.custom_call @check.expect_eq(%r#0, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
// refused: the channel is not known
func.func @program() -> tensor<i32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 123, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return %a#0 : tensor<i32>
}
func.func @main() {
  %r = stablehlo.custom_call @interpreter.run_parallel() {backend_config = "1 1 program"} : () -> tensor<i32>
  return
}
// -----
// refused: nothing was sent
func.func @program() -> tensor<i32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return %a#0 : tensor<i32>
}
func.func @main() {
  %r = stablehlo.custom_call @interpreter.run_parallel() {backend_config = "1 1 program"} : () -> tensor<i32>
  return
}
// -----
// refused: an array of another type was sent
func.func @feed() -> tensor<f32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  return %c : tensor<f32>
}
func.func @program() -> tensor<i32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  return %a#0 : tensor<i32>
}
func.func @main() {
  %r = stablehlo.custom_call @interpreter.run_parallel() {backend_config = "1 1 program feed"} : () -> tensor<i32>
  return
}
