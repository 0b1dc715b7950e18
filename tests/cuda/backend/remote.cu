// SPDX-License-Identifier: Apache-2.0
// Definitions of remote.hpp, compiled once for each element type, SLICESORT_TEST_DTYPE.
//
// The tests pass operator tags and params, private types in a namespace that names the build. This
// unit therefore uses the build name of the host compiler's units.
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

// The tuner of the current call, since tuning policies have no state.
thread_local tuner current_tuner;

struct current_tuning {
  template <class Tuning>
  Tuning operator()(ss::device_info device, std::size_t element_bytes, Tuning t) const {
    return current_tuner(device, element_bytes, t);
  }
};
class tuner_scope {
 public:
  explicit tuner_scope(stream_exec exec) : previous_(current_tuner) { current_tuner = exec.tune; }
  ~tuner_scope() { current_tuner = previous_; }
  tuner_scope(tuner_scope const&) = delete;
  tuner_scope& operator=(tuner_scope const&) = delete;

 private:
  tuner previous_;
};

auto make_policy(stream_exec exec) { return ss::exec::cuda{exec.stream}.tune(current_tuning{}); }

template <class Op>
using backend = ss::detail::implementation<Op, ss::detail::cuda_backend>;

}  // namespace

#if defined(SLICESORT_TEST_FIRST)
ss::status remote_check(stream_exec exec) {
  ss::detail::checker checks("the stream");
  backend<ss::detail::max_exchange_op>::check(make_policy(exec), checks);
  return checks.result();
}
#endif

template <class Op, class T>
std::size_t remote_bytes(stream_exec exec, typename Op::shape const& shape) {
  tuner_scope const scope(exec);
  ss::detail::arena memory;
  backend<Op>::template plan<T>(make_policy(exec), shape, memory);
  return memory.bytes();
}
template <class Op, class Params>
void remote_forward(stream_exec exec, Params const& params, ss::workspace scratch) {
  tuner_scope const scope(exec);
  backend<Op>::forward(make_policy(exec), params, scratch);
}
template <class Op, class Params>
void remote_backward(stream_exec exec, Params const& params, ss::workspace scratch) {
  tuner_scope const scope(exec);
  backend<Op>::backward(make_policy(exec), params, scratch);
}

using namespace slicesort;
using namespace slicesort::detail;

#define SLICESORT_TEST_INSTANTIATE_FORWARD(Op, T)                          \
  template std::size_t remote_bytes<Op, T>(stream_exec, Op::shape const&); \
  template void remote_forward<Op>(stream_exec, Op::forward<T> const&, workspace);
#define SLICESORT_TEST_INSTANTIATE(Op, T)   \
  SLICESORT_TEST_INSTANTIATE_FORWARD(Op, T) \
  template void remote_backward<Op>(stream_exec, Op::backward<T> const&, workspace);
SLICESORT_TEST_OPERATORS(SLICESORT_TEST_INSTANTIATE, SLICESORT_TEST_DTYPE)

}  // namespace support
