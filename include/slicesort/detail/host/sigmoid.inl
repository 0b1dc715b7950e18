// SPDX-License-Identifier: Apache-2.0
// Sigmoids of contiguous numbers. Included once per instruction set.

template <class A>
void compute_sigmoids(target, A const* x, A* y, index_t count) {
  constexpr int width = lane_values<A>::count;
  auto const compute_vector = [](A const* from, A* to) {
    lane_values<A> const ops;
    value_lanes<A>::template store<false>(to,
                                          elementary<lane_values<A>>::sigmoid(ops, ops.load(from)));
  };
  index_t i = 0;
  for (; i + width <= count; i += width) compute_vector(x + i, y + i);
  if (i == count) return;
  A rest[static_cast<std::size_t>(width)] = {};
  std::copy(x + i, x + count, rest);
  compute_vector(rest, rest);
  std::copy(rest, rest + (count - i), y + i);
}
