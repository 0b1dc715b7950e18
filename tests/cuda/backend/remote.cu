// SPDX-License-Identifier: Apache-2.0
// Compiled once for each element type, SLICESORT_TEST_DTYPE: see remote.hpp.
//
// The tests hand over operators and their calls, which are private types named after the build. So
// this unit takes the name that the units of the host compiler have.
#include <slicesort/detail/core/build.hpp>
#undef SLICESORT_BUILD
#define SLICESORT_BUILD v0_host

#include "remote.hpp"

#include "all_operators.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/dtype.hpp>

namespace support {

namespace ss = slicesort;

namespace {

// Selectors have no state of their own; this one's lies here for the length of a call.
thread_local tuner chosen;

struct chosen_tuning {
  template <class Tuning>
  Tuning operator()(ss::device_info device, std::size_t element_bytes, Tuning t) const {
    return chosen(device, element_bytes, t);
  }
};
class choice {
 public:
  explicit choice(on_stream exec) : before_(chosen) { chosen = exec.tune; }
  ~choice() { chosen = before_; }
  choice(choice const&) = delete;
  choice& operator=(choice const&) = delete;

 private:
  tuner before_;
};

auto policy(on_stream exec) { return ss::exec::cuda{exec.stream}.tune(chosen_tuning{}); }

template <class Op>
using backend = ss::detail::implementation<Op, ss::detail::cuda_backend>;

}  // namespace

#if defined(SLICESORT_TEST_FIRST)
ss::status remote_check(on_stream exec) {
  ss::detail::checker c("the stream");
  backend<ss::detail::max_exchange_op>::check(policy(exec), c);
  return c.result();
}
#endif

template <class Op, class T>
std::size_t remote_bytes(on_stream exec, typename Op::shape const& s) {
  choice const scope(exec);
  ss::detail::arena a;
  backend<Op>::template plan<T>(policy(exec), s, a);
  return a.bytes();
}
template <class Op, class Params>
void remote_forward(on_stream exec, Params const& p, ss::workspace w) {
  choice const scope(exec);
  backend<Op>::forward(policy(exec), p, w);
}
template <class Op, class Params>
void remote_backward(on_stream exec, Params const& p, ss::workspace w) {
  choice const scope(exec);
  backend<Op>::backward(policy(exec), p, w);
}

using namespace slicesort;
using namespace slicesort::detail;

#define SLICESORT_TEST_INSTANTIATE_FORWARD(Op, T)                        \
  template std::size_t remote_bytes<Op, T>(on_stream, Op::shape const&); \
  template void remote_forward<Op>(on_stream, Op::forward<T> const&, workspace);
#define SLICESORT_TEST_INSTANTIATE(Op, T)   \
  SLICESORT_TEST_INSTANTIATE_FORWARD(Op, T) \
  template void remote_backward<Op>(on_stream, Op::backward<T> const&, workspace);
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_INSTANTIATE, SLICESORT_TEST_DTYPE)

}  // namespace support
