// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE: see remote.hpp.
#include "remote.hpp"

#include "support/operators.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/dtype.hpp>

#include <cstdlib>

namespace support {

namespace ss = slicesort;

namespace {

// Selectors have no state of their own; this one's lies here for the length of a call.
thread_local sort_tuner chosen = nullptr;

struct chosen_tuning {
  ss::sort_tuning operator()(ss::device_info device, std::size_t element_bytes,
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
  sort_tuner before_;
};

auto policy(on_stream on) { return ss::exec::cuda{on.stream}.tune(chosen_tuning{}); }

template <class Op>
using backend = ss::impl::implementation<Op, ss::detail::cuda_backend>;

using grid = decltype(ss::impl::cuda_grid(policy({})));

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
  if constexpr (plans_with<Op, T, grid, ss::extents3, ss::index_t>)
    backend<Op>::template plan<T>(policy(on), e, terms, a);
  else if constexpr (plans_with<Op, T, grid, ss::extents3>)
    backend<Op>::template plan<T>(policy(on), e, a), (void)terms;
  else
    (void)e, (void)terms, std::abort();  // of another shape
  return a.bytes();
}
template <class Op, class T>
std::size_t remote_bytes(on_stream on, ss::detail::attention_shape s) {
  choice const scope(on);
  ss::detail::arena a;
  if constexpr (plans_with<Op, T, grid, ss::detail::attention_shape>)
    backend<Op>::template plan<T>(policy(on), s, a);
  else
    (void)s, std::abort();
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

using namespace slicesort;
using namespace slicesort::detail;

#define SLICESORT_TEST_INSTANTIATE(...)                                               \
  template std::size_t remote_bytes<calls_of<__VA_ARGS__>::op, SLICESORT_TEST_DTYPE>( \
      on_stream, extents3, index_t);                                                  \
  template std::size_t remote_bytes<calls_of<__VA_ARGS__>::op, SLICESORT_TEST_DTYPE>( \
      on_stream, attention_shape);                                                    \
  template void remote_forward<calls_of<__VA_ARGS__>::op>(                            \
      on_stream, calls_of<__VA_ARGS__>::forward const&, workspace);                   \
  template void remote_backward<calls_of<__VA_ARGS__>::op>(                           \
      on_stream, calls_of<__VA_ARGS__>::backward const&, workspace);
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_INSTANTIATE, SLICESORT_TEST_DTYPE)

}  // namespace support
