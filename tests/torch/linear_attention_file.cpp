// SPDX-License-Identifier: Apache-2.0
// Linear attention of tensors in a file, forward and backward, for check_linear_attention.py:
// linear_attention_file host|cuda IN OUT. IN: eight 64-bit integers (`request`), then q, k, v, w if
// the features are random, and dy; OUT: y, dq, dk, dv and dw. Features and divisors are those of
// the bench's cases.
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
  std::int64_t rows_of_w;  // 0: the features are not random
};

template <class T, class Operator, class Exec>
void attend(Exec const& on, Operator const& op, request const& r, std::ifstream& in,
            std::ofstream& out) {
  ss::extents4 const e{r.batch, r.heads, r.length, r.channels};
  ss::extents3 const of_w{1, r.rows_of_w, r.rows_of_w > 0 ? r.channels : 0};
  auto const q = read_tensor<T>(in, e.size()), k = read_tensor<T>(in, e.size()),
             v = read_tensor<T>(in, e.size()), w = read_tensor<T>(in, of_w.size()),
             dy = read_tensor<T>(in, e.size());
  bool const random = r.rows_of_w > 0;
  ss::linear_attention_inputs<T> const given{
      {q.data(), e},
      {k.data(), e},
      {v.data(), e},
      random ? ss::tensor3<T const>(w.data(), of_w) : ss::tensor3<T const>()};
  ss::extents3 const w_shape = given.w.extents();
  guarded_workspace scratch(op.template workspace_bytes<T>(on, e, e, w_shape, w_shape));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dw(w.size());
  op.forward(on, given, ss::tensor4<T>(y.data(), e), scratch.get());
  op.backward(on, ss::tensor4<T const>(dy.data(), e), given,
              {{dq.data(), e},
               {dk.data(), e},
               {dv.data(), e},
               random ? ss::tensor3<T>(dw.data(), of_w) : ss::tensor3<T>()},
              scratch.get());
  for (auto const* elements : {&y, &dq, &dk, &dv, &dw}) write_tensor(out, *elements);
}

// f(operator): feature and divisor by the number that check_linear_attention.py has for them.
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
      argc, argv, [](any_exec const& on, auto zero, request const& r, auto& in, auto& out) {
        auto const f = [&](auto const& op) { attend<decltype(zero)>(on, op, r, in, out); };
        if (r.causal != 0)
          with_operator<ss::direction::causal>(r.feature, f);
        else
          with_operator<ss::direction::noncausal>(r.feature, f);
      });
}
