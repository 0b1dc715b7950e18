// SPDX-License-Identifier: Apache-2.0
// Runs attention forward and backward on tensors read from a file. check_attention.py calls it:
// attention_file host|cuda IN OUT. IN holds `attention_params`, then q, k, v, the optional bias,
// and dy; OUT receives y, dq, dk, dv and dbias.
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
#include <vector>

using namespace support;

namespace {

// Codes of the sparse masks, on the host only. Smaller codes are values of mask_kind.
enum mask_codes : std::int64_t {
  fixed_mask = 100,
  causal_fixed_mask,
  window_globals_mask,
  dilated_mask,
  chunk_back_mask,
  strided_mask,
  bigbird_mask
};
// Dense: a value per pair. Relative: a value per distance, shared by samples. Shared: a value per
// pair, shared by samples and heads.
enum bias_codes : std::int64_t { no_bias, dense_bias, relative_bias, shared_bias };

// The header of the input file.
struct attention_params {
  std::int64_t dtype, materialized, mask_code, offset, bias_code;
  std::int64_t batch, heads, queries, keys, channels, value_channels;
  double scale;

  ss::extents4 bias_shape() const {
    if (bias_code == dense_bias) return {batch, heads, queries, keys};
    if (bias_code == relative_bias) return {1, heads, 1, queries + keys - 1};
    if (bias_code == shared_bias) return {1, 1, queries, keys};
    return {};
  }
};

// Calls f(mask) with the sparse mask of the code.
template <class F>
void with_sparse_mask(attention_params const& params, F const& f) {
  namespace mask = ss::mask;
  mask::bigbird bigbird{16, 3, 1, 2, 7};
  bigbird.keys = params.keys;
  switch (params.mask_code) {
    case fixed_mask:
      return f(mask::fixed{10, 3});
    case causal_fixed_mask:
      return f(mask::both{mask::causal{}, mask::fixed{16, 2, true}});
    case window_globals_mask:
      return f(mask::either{mask::window{7, 5}, mask::globals{3}});
    case dilated_mask:
      return f(mask::dilated_window{12, 10, 4});
    case chunk_back_mask:
      return f(mask::chunk_back{20});
    case strided_mask:
      return f(mask::strided{4});
    case bigbird_mask:
      return f(bigbird);
    default:
      throw std::runtime_error("unknown mask");
  }
}

template <class T, class Algorithm, class Mask, class Exec>
void run_with_mask(Exec const& exec, Mask const& mask, attention_params const& params,
                   std::ifstream& input, std::ofstream& output) {
  ss::extents4 const q_shape{params.batch, params.heads, params.queries, params.channels},
      k_shape{params.batch, params.heads, params.keys, params.channels},
      v_shape{params.batch, params.heads, params.keys, params.value_channels},
      y_shape{params.batch, params.heads, params.queries, params.value_channels},
      bias_shape = params.bias_shape();
  auto const read = [&](ss::extents4 shape) { return read_tensor<T>(input, shape.size()); };
  auto const q = read(q_shape), k = read(k_shape), v = read(v_shape), bias = read(bias_shape),
             dy = read(y_shape);
  ss::attention_inputs<T> const inputs{{q.data(), q_shape},
                                       {k.data(), k_shape},
                                       {v.data(), v_shape},
                                       params.bias_code != no_bias
                                           ? ss::tensor4<T const>(bias.data(), bias_shape)
                                           : ss::tensor4<T const>()};

  ss::softmax_attention<Mask, Algorithm> const op{mask, params.scale};
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  ss::extents4 const state_shape = op.saved_extents(q_shape, v_shape);
  std::vector<state_type> state(static_cast<std::size_t>(state_shape.size()));
  ss::tensor4<state_type> const saved{state.data(), state_shape};
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, q_shape, v_shape, bias_shape));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dbias(bias.size());
  ss::tensor4<T> const y_view{y.data(), y_shape};
  op.forward(exec, inputs, y_view, {saved}, scratch.get());
  op.backward(
      exec, ss::tensor4<T const>(dy.data(), y_shape), inputs, y_view,
      {ss::tensor4<state_type const>(saved)},
      {{dq.data(), q_shape},
       {dk.data(), k_shape},
       {dv.data(), v_shape},
       params.bias_code != no_bias ? ss::tensor4<T>(dbias.data(), bias_shape) : ss::tensor4<T>()},
      scratch.get());
  for (auto const* result_values : {&y, &dq, &dk, &dv, &dbias})
    write_tensor(output, *result_values);
}

template <class T, class Algorithm, class Exec>
void run_attention(Exec const& exec, attention_params const& params, std::ifstream& input,
                   std::ofstream& output) {
  if (params.mask_code >= fixed_mask)
    return with_sparse_mask(params, [&](auto const& mask) {
      run_with_mask<T, Algorithm>(ss::exec::host{2}, mask, params, input, output);
    });
  run_with_mask<T, Algorithm>(
      exec, pattern_mask{static_cast<mask_kind>(params.mask_code), params.offset, 0}, params, input,
      output);
}

}  // namespace

int main(int argc, char** argv) {
  return run_on_file<attention_params>(
      argc, argv,
      [](any_exec const& exec, auto element, attention_params const& params, auto& input,
         auto& output) {
        using T = decltype(element);
        if (params.materialized != 0)
          run_attention<T, ss::materialized<>>(exec, params, input, output);
        else
          run_attention<T, ss::streaming>(exec, params, input, output);
      });
}
