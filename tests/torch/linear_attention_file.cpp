// SPDX-License-Identifier: Apache-2.0
// Runs linear attention forward and backward on tensors read from a file. check_linear_attention.py
// calls it: linear_attention_file host|cuda IN OUT. IN holds `linear_attention_params`, then q, k,
// v, w for random features, and dy; OUT receives y, dq, dk, dv and dw. The bench uses the same
// features and divisors.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "tensor_file.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstdint>
#include <fstream>
#include <vector>

using namespace support;

namespace {

// Feature codes, in the order of FEATURES in check_linear_attention.py.
enum feature_codes : std::int64_t { elu_plus_one, cosine_reweighted, random_exp, random_fourier };

// The header of the input file.
struct linear_attention_params {
  std::int64_t dtype, feature_code, causal;
  std::int64_t batch, heads, length, channels;
  std::int64_t w_rows;  // 0: the features are not random
};

template <class T, class Operator, class Exec>
void run_linear_attention(Exec const& exec, Operator const& op,
                          linear_attention_params const& params, std::ifstream& input,
                          std::ofstream& output) {
  ss::extents4 const shape{params.batch, params.heads, params.length, params.channels};
  ss::extents3 const w_shape{1, params.w_rows, params.w_rows > 0 ? params.channels : 0};
  auto const q = read_tensor<T>(input, shape.size()), k = read_tensor<T>(input, shape.size()),
             v = read_tensor<T>(input, shape.size()), w = read_tensor<T>(input, w_shape.size()),
             dy = read_tensor<T>(input, shape.size());
  bool const has_w = params.w_rows > 0;
  ss::linear_attention_inputs<T> const inputs{
      {q.data(), shape},
      {k.data(), shape},
      {v.data(), shape},
      has_w ? ss::tensor3<T const>(w.data(), w_shape) : ss::tensor3<T const>()};
  ss::extents3 const w_extents = inputs.w.extents();
  guarded_workspace scratch(
      op.template workspace_bytes<T>(exec, shape, shape, w_extents, w_extents));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dw(w.size());
  op.forward(exec, inputs, ss::tensor4<T>(y.data(), shape), scratch.get());
  op.backward(exec, ss::tensor4<T const>(dy.data(), shape), inputs,
              {{dq.data(), shape},
               {dk.data(), shape},
               {dv.data(), shape},
               has_w ? ss::tensor3<T>(dw.data(), w_shape) : ss::tensor3<T>()},
              scratch.get());
  for (auto const* result_values : {&y, &dq, &dk, &dv, &dw}) write_tensor(output, *result_values);
}

// Calls run(operator) with the feature of the code and its divisor.
template <class Direction, class F>
void with_operator(std::int64_t feature_code, F const& run) {
  namespace feature = ss::feature;
  namespace divisor = ss::divisor;
  if (feature_code == elu_plus_one)
    run(ss::linear_attention<feature::elu_plus_one, divisor::sum_plus, Direction>{});
  else if (feature_code == cosine_reweighted)
    run(ss::linear_attention<feature::cosine_reweighted, divisor::at_least, Direction>{});
  else if (feature_code == random_exp)
    run(ss::linear_attention<feature::random_exp, divisor::sum_plus, Direction>{
        divisor::sum_plus{0}});
  else
    run(ss::linear_attention<feature::random_fourier, divisor::sum_plus, Direction>{
        divisor::sum_plus{1}});
}

}  // namespace

int main(int argc, char** argv) {
  return run_on_file<linear_attention_params>(
      argc, argv,
      [](any_exec const& exec, auto element, linear_attention_params const& params, auto& input,
         auto& output) {
        auto const run = [&](auto const& op) {
          run_linear_attention<decltype(element)>(exec, op, params, input, output);
        };
        if (params.causal != 0)
          with_operator<ss::direction::causal>(params.feature_code, run);
        else
          with_operator<ss::direction::noncausal>(params.feature_code, run);
      });
}
