// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE.
#include "block_backend.hpp"

#include "operators.hpp"

#include <slicesort/detail/operators.hpp>
#include <slicesort/dtype.hpp>

#include <cstdlib>
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
template <template <class...> class Problem, class Mask, class T, class State>
struct element_of<Problem<Mask, T, State>> {
  using type = T;
};

// f(grid); no body of 16-bit elements asks what the device is good at.
template <class T, class F>
void with_block_grid(support::block_exec const& on, F const& f) {
#if defined(SLICESORT_TEST_HOST_ONLY)
  // Nobody calls: there are no kernels, only something to link with.
  (void)on, (void)f;
  std::abort();
#else
  if constexpr (sizeof(T) >= 4) {
    if (on.fast_double) {
      f(support::block_grid<true>(on));
      return;
    }
  }
  f(support::block_grid<false>(on));
#endif
}

template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& on, extents3 e,
                                                      index_t terms, detail::arena& a) {
  with_block_grid<float16>(on, [&](auto const& grid) {
    using grid_type = std::decay_t<decltype(grid)>;
    if constexpr (support::plans_with<Op, T, grid_type, extents3, index_t>)
      grid_implementation<Op>::template plan<T>(grid, e, terms, a);
    else if constexpr (support::plans_with<Op, T, grid_type, extents3>)
      grid_implementation<Op>::template plan<T>(grid, e, a), (void)terms;
    else
      (void)terms, std::abort();  // of another shape
  });
}
template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& on,
                                                      detail::attention_shape s, detail::arena& a) {
  with_block_grid<float16>(on, [&](auto const& grid) {
    if constexpr (support::plans_with<Op, T, std::decay_t<decltype(grid)>, detail::attention_shape>)
      grid_implementation<Op>::template plan<T>(grid, s, a);
    else
      std::abort();
  });
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

using namespace slicesort;
using namespace slicesort::detail;
using namespace support;
using T = SLICESORT_TEST_DTYPE;

#define SLICESORT_TEST_INSTANTIATE(...)                                                          \
  template void                                                                                  \
  slicesort::impl::implementation<calls_of<__VA_ARGS__>::op, block_backend>::plan<T>(            \
      block_exec const&, extents3, index_t, arena&);                                             \
  template void                                                                                  \
  slicesort::impl::implementation<calls_of<__VA_ARGS__>::op, block_backend>::plan<T>(            \
      block_exec const&, attention_shape, arena&);                                               \
  template void slicesort::impl::implementation<calls_of<__VA_ARGS__>::op, block_backend>::      \
      forward<calls_of<__VA_ARGS__>::forward>(block_exec const&,                                 \
                                              calls_of<__VA_ARGS__>::forward const&, workspace); \
  template void slicesort::impl::implementation<calls_of<__VA_ARGS__>::op, block_backend>::      \
      backward<calls_of<__VA_ARGS__>::backward>(                                                 \
          block_exec const&, calls_of<__VA_ARGS__>::backward const&, workspace);
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_INSTANTIATE, T)
