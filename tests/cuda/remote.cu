// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE: see remote.hpp.
#include "remote.hpp"

#include "support/pattern_order.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/dtype.hpp>
#include <slicesort/shuffle.hpp>

namespace support {

namespace ss = slicesort;

namespace {

// Selectors have no state of their own; this one's lies here for the length of a call.
thread_local on_stream::tuner chosen = nullptr;

struct chosen_tuning {
  ss::sort_tuning operator()(ss::device_facts device, std::size_t element_bytes,
                             ss::sort_tuning t) const {
    return chosen != nullptr ? chosen(device, element_bytes, t) : t;
  }
};
class choice {
 public:
  explicit choice(on_stream on) : before_(chosen) { chosen = on.tune; }
  ~choice() { chosen = before_; }
  choice(choice const&) = delete;
  choice& operator=(choice const&) = delete;

 private:
  on_stream::tuner before_;
};

auto policy(on_stream on) { return ss::exec::cuda{on.stream}.tune(chosen_tuning{}); }

template <class Op>
using backend = ss::impl::implementation<Op, ss::detail::cuda_backend>;

template <class Op>
constexpr bool has_terms = false;
template <class Order>
constexpr bool has_terms<ss::detail::multi_permutation_op<Order>> = true;

}  // namespace

#if defined(SLICESORT_TEST_FIRST)
ss::verdict remote_check(on_stream on) {
  ss::detail::checker c("the stream");
  backend<ss::detail::max_exchange_op>::check(policy(on), c);
  return c.result();
}
#endif

template <class Op, class T>
std::size_t remote_bytes(on_stream on, ss::extents3 e, ss::index_t terms) {
  choice const scope(on);
  ss::detail::arena a;
  if constexpr (has_terms<Op>)
    backend<Op>::template plan<T>(policy(on), e, terms, a);
  else
    backend<Op>::template plan<T>(policy(on), e, a), (void)terms;
  return a.bytes();
}
template <class Op, class Problem>
void remote_forward(on_stream on, Problem const& p, ss::workspace w) {
  choice const scope(on);
  backend<Op>::forward(policy(on), p, w);
}
template <class Op, class Problem>
void remote_backward(on_stream on, Problem const& p, ss::workspace w) {
  choice const scope(on);
  backend<Op>::backward(policy(on), p, w);
}

namespace {
namespace d = ss::detail;
using ss::bfloat16;
using ss::float16;
using T = SLICESORT_TEST_DTYPE;
using sort = d::slicing_sort_op<pattern_order>;
using multi = d::multi_permutation_op<pattern_order>;
using exchange = d::max_exchange_op;
using shared_shuffle = d::shuffle_op<ss::shared_by_channels>;
using own_shuffle = d::shuffle_op<ss::per_channel>;
using sort_forward = d::slicing_sort_forward<pattern_order, T>;
using multi_forward = d::multi_permutation_forward<pattern_order, T>;
}  // namespace

#define SLICESORT_TEST_OPERATOR(Op, Forward, Backward)                                 \
  template std::size_t remote_bytes<Op, T>(on_stream, ss::extents3, ss::index_t);      \
  template void remote_forward<Op, Forward>(on_stream, Forward const&, ss::workspace); \
  template void remote_backward<Op, Backward>(on_stream, Backward const&, ss::workspace);
SLICESORT_TEST_OPERATOR(sort, sort_forward, d::slicing_sort_backward<T>)
SLICESORT_TEST_OPERATOR(multi, multi_forward, d::multi_permutation_backward<T>)
SLICESORT_TEST_OPERATOR(exchange, d::max_exchange_forward<T>, d::max_exchange_backward<T>)
SLICESORT_TEST_OPERATOR(shared_shuffle, d::shuffle_forward<T>, d::shuffle_backward<T>)
SLICESORT_TEST_OPERATOR(own_shuffle, d::shuffle_forward<T>, d::shuffle_backward<T>)

}  // namespace support
