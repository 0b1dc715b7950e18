// SPDX-License-Identifier: Apache-2.0
// Sigmoids of contiguous numbers. Included once per instruction set.

template <class A>
void compute_sigmoids(target, A const* x, A* y, index_t count) {
  lane_values<A> const ops;
  using functions = elementary<lane_values<A>>;
  constexpr int width = lane_values<A>::count;
  index_t i = 0;
  for (; i + width <= count; i += width) ops.store(functions::sigmoid(ops, ops.load(x + i)), y + i);
  if (i == count) return;
  A rest[static_cast<std::size_t>(width)] = {};
  std::copy(x + i, x + count, rest);
  ops.store(functions::sigmoid(ops, ops.load(rest)), rest);
  std::copy(rest, rest + (count - i), y + i);
}
