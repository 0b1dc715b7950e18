// SPDX-License-Identifier: Apache-2.0
// Causal linear attention of a sequence that grows: a prompt, then one token at a time. A state
// replaces the keys and values, and the outputs have the bits of one call.
#include <slicesort/linear_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace ss = slicesort;

namespace {

ss::index_t const heads = 2, length = 100, channels = 8;
ss::extents4 const shape{1, heads, length, channels};

// Distinct test values in [-1, 1].
std::vector<float> test_values(int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i * 7) + 2.5 * seed));
  return values;
}
// Rows [first, first + count) of every head.
template <class T>
ss::tensor4<T> rows(T* data, ss::index_t first, ss::index_t count) {
  return {data + first * channels,
          {1, heads, count, channels},
          {shape.size(), length * channels, channels, 1}};
}

}  // namespace

int main() {
  std::vector<float> const q = test_values(1), k = test_values(2), v = test_values(3);
  std::vector<float> whole(q.size()), y(q.size());
  ss::exec::host const exec;
  ss::scratch memory;
  ss::linear_attention const op{ss::direction::causal{}};
  op.forward(exec, {ss::view(q, shape), ss::view(k, shape), ss::view(v, shape)},
             ss::view(whole, shape), memory);

  // [snippet]
  ss::extents4 const state_shape = op.state_extents(shape, shape);  // [1, heads, 1, elements]
  std::vector<float> state(static_cast<std::size_t>(state_shape.size()));  // zeros: no keys yet
  auto const decode = [&](ss::index_t first, ss::index_t count) {
    op.forward(
        exec,
        {rows(q.data(), first, count), rows(k.data(), first, count), rows(v.data(), first, count)},
        rows(y.data(), first, count), memory, {},
        {ss::view(std::as_const(state), state_shape), ss::view(state, state_shape)});
  };
  decode(0, 37);                                           // the prompt
  for (ss::index_t i = 37; i < length; ++i) decode(i, 1);  // one token at a time
  // [/snippet]
  std::printf("elements of the state per head: %d\n", static_cast<int>(state_shape.channels));
  std::printf("37 tokens, then one by one: %s\n",
              y == whole ? "the bits of one call" : "other bits");
}

// output:
// elements of the state per head: 1146
// 37 tokens, then one by one: the bits of one call
