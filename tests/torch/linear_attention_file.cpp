// SPDX-License-Identifier: Apache-2.0
// Linear attention on tensors of a file, forward and backward, for check_linear_attention.py:
// linear_attention_file host|cuda IN OUT. IN: eight 64-bit integers (`request`), then q, k, v, w
// for random features, and dy; OUT: y, dq, dk, dv and dw. Features and divisors are those of the
// bench.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "tensor_file.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstdint>
#include <fstream>
#include <vector>

using namespace support;

namespace {

struct request {
  std::int64_t dtype, feature, causal;
  std::int64_t batch, heads, length, channels;
  std::int64_t w_rows;  // 0: the features are not random
};

template <class T, class Operator, class Exec>
void answer(Exec const& exec, Operator const& op, request const& r, std::ifstream& input,
            std::ofstream& output) {
  ss::extents4 const e{r.batch, r.heads, r.length, r.channels};
  ss::extents3 const w_shape{1, r.w_rows, r.w_rows > 0 ? r.channels : 0};
  auto const q = read_tensor<T>(input, e.size()), k = read_tensor<T>(input, e.size()),
             v = read_tensor<T>(input, e.size()), w = read_tensor<T>(input, w_shape.size()),
             dy = read_tensor<T>(input, e.size());
  bool const random = r.w_rows > 0;
  ss::linear_attention_inputs<T> const inputs{
      {q.data(), e},
      {k.data(), e},
      {v.data(), e},
      random ? ss::tensor3<T const>(w.data(), w_shape) : ss::tensor3<T const>()};
  ss::extents3 const w_extents = inputs.w.extents();
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e, e, w_extents, w_extents));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dw(w.size());
  op.forward(exec, inputs, ss::tensor4<T>(y.data(), e), scratch.get());
  op.backward(exec, ss::tensor4<T const>(dy.data(), e), inputs,
              {{dq.data(), e},
               {dk.data(), e},
               {dv.data(), e},
               random ? ss::tensor3<T>(dw.data(), w_shape) : ss::tensor3<T>()},
              scratch.get());
  for (auto const* elements : {&y, &dq, &dk, &dv, &dw}) write_tensor(output, *elements);
}

// Calls f(operator) with feature and divisor number `number` of check_linear_attention.py.
template <class Direction, class F>
void with_operator(std::int64_t number, F const& f) {
  namespace feature = ss::feature;
  namespace divisor = ss::divisor;
  if (number == 0)
    f(ss::linear_attention<feature::elu_plus_one, divisor::sum_plus, Direction>{});
  else if (number == 1)
    f(ss::linear_attention<feature::cosine_reweighted, divisor::at_least, Direction>{});
  else if (number == 2)
    f(ss::linear_attention<feature::random_exp, divisor::sum_plus, Direction>{
        divisor::sum_plus{0}});
  else
    f(ss::linear_attention<feature::random_fourier, divisor::sum_plus, Direction>{
        divisor::sum_plus{1}});
}

}  // namespace

int main(int argc, char** argv) {
  return answer_file<request>(
      argc, argv, [](any_exec const& exec, auto zero, request const& r, auto& input, auto& output) {
        auto const f = [&](auto const& op) { answer<decltype(zero)>(exec, op, r, input, output); };
        if (r.causal != 0)
          with_operator<ss::direction::causal>(r.feature, f);
        else
          with_operator<ss::direction::noncausal>(r.feature, f);
      });
}
