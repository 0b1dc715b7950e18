// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE.
#include "block_backend.hpp"

#include "pattern_order.hpp"

#include <slicesort/detail/block/max_exchange.hpp>
#include <slicesort/detail/block/multi_permutation.hpp>
#include <slicesort/detail/block/shuffle.hpp>
#include <slicesort/detail/block/slicing_sort.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/shuffle.hpp>

#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Problem>
struct element_of;
template <template <class...> class Problem, class T>
struct element_of<Problem<T>> {
  using type = T;
};
template <template <class...> class Problem, class Order, class T>
struct element_of<Problem<Order, T>> {
  using type = T;
};

// f(grid); no body of 16-bit elements asks what the device is good at.
template <class T, class F>
void with_block_grid(support::block_exec const& on, F const& f) {
  if constexpr (sizeof(T) >= 4) {
    if (on.fast_double) {
      f(support::block_grid<true>(on));
      return;
    }
  }
  f(support::block_grid<false>(on));
}

template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& on, extents3 e,
                                                      detail::arena& a) {
  grid_implementation<Op>::template plan<T>(support::block_grid<false>(on), e, a);
}
template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& on, extents3 e,
                                                      index_t terms, detail::arena& a) {
  grid_implementation<Op>::template plan<T>(support::block_grid<false>(on), e, terms, a);
}
template <class Op>
template <class Problem>
void implementation<Op, support::block_backend>::forward(support::block_exec const& on,
                                                         Problem const& p, workspace w) {
  with_block_grid<typename element_of<Problem>::type>(
      on, [&](auto const& grid) { grid_implementation<Op>::forward(grid, p, w); });
}
template <class Op>
template <class Problem>
void implementation<Op, support::block_backend>::backward(support::block_exec const& on,
                                                          Problem const& p, workspace w) {
  with_block_grid<typename element_of<Problem>::type>(
      on, [&](auto const& grid) { grid_implementation<Op>::backward(grid, p, w); });
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

namespace d = slicesort::detail;
using slicesort::bfloat16;
using slicesort::float16;
using support::pattern_order;
using T = SLICESORT_TEST_DTYPE;

#define SLICESORT_TEST_OPERATOR(Op, Forward, Backward)                                           \
  template void slicesort::impl::implementation<Op, support::block_backend>::forward<Forward>(   \
      support::block_exec const&, Forward const&, slicesort::workspace);                         \
  template void slicesort::impl::implementation<Op, support::block_backend>::backward<Backward>( \
      support::block_exec const&, Backward const&, slicesort::workspace);
#define SLICESORT_TEST_PLAN(Op, extents)                                              \
  template void slicesort::impl::implementation<Op, support::block_backend>::plan<T>( \
      support::block_exec const&, extents, d::arena&);
#define SLICESORT_TEST_TERMS slicesort::extents3, slicesort::index_t

using sort = d::slicing_sort_op<pattern_order>;
using multi = d::multi_permutation_op<pattern_order>;
using exchange = d::max_exchange_op;
using shared_shuffle = d::shuffle_op<slicesort::shared_by_channels>;
using own_shuffle = d::shuffle_op<slicesort::per_channel>;
using sort_forward = d::slicing_sort_forward<pattern_order, T>;
using multi_forward = d::multi_permutation_forward<pattern_order, T>;

SLICESORT_TEST_PLAN(sort, slicesort::extents3)
SLICESORT_TEST_OPERATOR(sort, sort_forward, d::slicing_sort_backward<T>)
SLICESORT_TEST_PLAN(multi, SLICESORT_TEST_TERMS)
SLICESORT_TEST_OPERATOR(multi, multi_forward, d::multi_permutation_backward<T>)
SLICESORT_TEST_PLAN(exchange, slicesort::extents3)
SLICESORT_TEST_OPERATOR(exchange, d::max_exchange_forward<T>, d::max_exchange_backward<T>)
SLICESORT_TEST_PLAN(shared_shuffle, slicesort::extents3)
SLICESORT_TEST_OPERATOR(shared_shuffle, d::shuffle_forward<T>, d::shuffle_backward<T>)
SLICESORT_TEST_PLAN(own_shuffle, slicesort::extents3)
SLICESORT_TEST_OPERATOR(own_shuffle, d::shuffle_forward<T>, d::shuffle_backward<T>)
