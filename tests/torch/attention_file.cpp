// SPDX-License-Identifier: Apache-2.0
// Attention on tensors of a file, forward and backward, for check_attention.py: attention_file
// host|cuda IN OUT. IN: eleven 64-bit integers and a double (`request`), then q, k, v, the optional
// bias, and dy; OUT: y, dq, dk, dv and dbias. Masks from 100 on are sparse masks, on the host only.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/pattern_mask.hpp"
#include "tensor_file.hpp"

#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

struct request {
  std::int64_t dtype, materialized, mask, offset, bias;
  std::int64_t batch, heads, queries, keys, channels, values;
  double scale;

  // Bias 1 has a number per pair; 2 is relative, shared by samples; 3 is shared by samples and
  // heads.
  ss::extents4 bias_shape() const {
    if (bias == 1) return {batch, heads, queries, keys};
    if (bias == 2) return {1, heads, 1, queries + keys - 1};
    if (bias == 3) return {1, 1, queries, keys};
    return {};
  }
};

// Calls f(mask) with a sparse mask of check_attention.py.
template <class F>
void with_sparse_mask(request const& r, F const& f) {
  namespace mask = ss::mask;
  mask::bigbird blocks{16, 3, 1, 2, 7};
  blocks.keys = r.keys;
  switch (r.mask) {
    case 100:
      return f(mask::fixed{10, 3});
    case 101:
      return f(mask::both{mask::causal{}, mask::fixed{16, 2, true}});
    case 102:
      return f(mask::either{mask::window{7, 5}, mask::globals{3}});
    case 103:
      return f(mask::dilated_window{12, 10, 4});
    case 104:
      return f(mask::chunk_back{20});
    case 105:
      return f(mask::strided{4});
    case 106:
      return f(blocks);
    default:
      throw std::runtime_error("unknown mask");
  }
}

template <class T, class Algorithm, class Mask, class Exec>
void answer_with(Exec const& exec, Mask const& mask, request const& r, std::ifstream& input,
                 std::ofstream& output) {
  ss::extents4 const q_shape{r.batch, r.heads, r.queries, r.channels},
      k_shape{r.batch, r.heads, r.keys, r.channels}, v_shape{r.batch, r.heads, r.keys, r.values},
      y_shape{r.batch, r.heads, r.queries, r.values}, bias_shape = r.bias_shape();
  auto const read = [&](ss::extents4 e) { return read_tensor<T>(input, e.size()); };
  auto const q = read(q_shape), k = read(k_shape), v = read(v_shape), bias = read(bias_shape),
             dy = read(y_shape);
  ss::attention_inputs<T> const inputs{
      {q.data(), q_shape},
      {k.data(), k_shape},
      {v.data(), v_shape},
      r.bias != 0 ? ss::tensor4<T const>(bias.data(), bias_shape) : ss::tensor4<T const>()};

  ss::softmax_attention<Mask, Algorithm> const op{mask, r.scale};
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  ss::extents4 const state_shape = op.saved_extents(q_shape, v_shape);
  std::vector<state_type> state(static_cast<std::size_t>(state_shape.size()));
  ss::tensor4<state_type> const saved{state.data(), state_shape};
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, q_shape, v_shape, bias_shape));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dbias(bias.size());
  ss::tensor4<T> const result{y.data(), y_shape};
  op.forward(exec, inputs, result, {saved}, scratch.get());
  op.backward(exec, ss::tensor4<T const>(dy.data(), y_shape), inputs, result,
              {ss::tensor4<state_type const>(saved)},
              {{dq.data(), q_shape},
               {dk.data(), k_shape},
               {dv.data(), v_shape},
               r.bias != 0 ? ss::tensor4<T>(dbias.data(), bias_shape) : ss::tensor4<T>()},
              scratch.get());
  for (auto const* elements : {&y, &dq, &dk, &dv, &dbias}) write_tensor(output, *elements);
}

template <class T, class Algorithm, class Exec>
void answer(Exec const& exec, request const& r, std::ifstream& input, std::ofstream& output) {
  auto const with_mask = [&](auto const& mask) {
    answer_with<T, Algorithm>(exec, mask, r, input, output);
  };
  if constexpr (std::is_same_v<Exec, ss::exec::host>)
    if (r.mask >= 100) return with_sparse_mask(r, with_mask);
  with_mask(pattern_mask{static_cast<mask_kind>(r.mask), r.offset, 0});
}

}  // namespace

int main(int argc, char** argv) {
  return answer_file<request>(
      argc, argv, [](any_exec const& exec, auto zero, request const& r, auto& input, auto& output) {
        using T = decltype(zero);
        if (r.materialized != 0)
          answer<T, ss::materialized<>>(exec, r, input, output);
        else
          answer<T, ss::streaming>(exec, r, input, output);
      });
}
