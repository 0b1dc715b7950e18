// SPDX-License-Identifier: Apache-2.0
// The number of threads is a limit. A call and its workspace use at most one thread per task, and
// the results equal those of one thread.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace support;
using ss::extents4;

namespace {

constexpr unsigned too_many = 4'000'000'000u;

// Records the largest number of threads requested.
struct counting_executor {
  unsigned max_threads = 0;

  template <class F>
  void parallel_for(unsigned n, F const& f) {
    max_threads = std::max(max_threads, n);
    for (unsigned i = 0; i < n; ++i) f(i);
  }
};

// `call(policy)` runs forward and returns y; `bytes(policy)` is the size of its workspace.
template <class Call, class Bytes>
void check_threads(unsigned tasks, Call const& call, Bytes const& bytes) {
  auto const expected = call(ss::exec::host{});
  counting_executor counting;
  ss::exec::host_on<counting_executor> const exec(counting, too_many);
  CHECK(same_bits(call(exec), expected));
  CHECK(counting.max_threads == tasks);
  CHECK(bytes(exec) == bytes(ss::exec::host{tasks}));
  CHECK(bytes(ss::exec::host{too_many}) == bytes(ss::exec::host{tasks}));
  CHECK(bytes(ss::exec::host{too_many}) > bytes(ss::exec::host{tasks - 1}));
  CHECK(same_bits(call(ss::exec::host{too_many}), expected));  // with threads
}

template <class Op>
void check_sort(Op const& op, unsigned tasks) {
  extents3 const e{3, 50, 40};  // samples of two tiles of up to 32 channels
  auto const x = mixed_tensor<float>(e, all_kinds, 5);
  check_threads(
      tasks,
      [&](auto const& exec) {
        tensor<float> y(e);
        ss::scratch memory;
        op.forward(exec, x.view(), y.view(), ss::no_saved, memory);
        return y.elements();
      },
      [&](auto const& exec) { return op.template workspace_bytes<float>(exec, e); });
}

}  // namespace

TEST_CASE("operators that sort: a task is a tile of columns") {
  check_sort(ss::slicing_sort<>{}, 4);  // 120 columns, in any number of samples
  check_sort(ss::csp{ss::group_size{4}}, 6);
}

TEST_CASE("sparse_mix: a task is a tile of channels") {
  extents3 const e{3, 50, 40};
  ss::stack_extents const w{2, 3, 50, 3};
  auto const x = mixed_tensor<float>(e, ordinary_kinds, 5);
  std::vector<float> const weights(static_cast<std::size_t>(w.size()), 0.25f);
  ss::sparse_mix<> const op;
  check_threads(
      6,
      [&](auto const& exec) {
        tensor<float> y(e);
        ss::scratch memory;
        op.forward(exec, x.view(), ss::tensor_stack<float const>(weights.data(), w), y.view(),
                   ss::no_saved, memory);
        return y.elements();
      },
      [&](auto const& exec) { return op.template workspace_bytes<float>(exec, e, w); });
}

TEST_CASE("softmax_attention: a task is a few queries of a head") {
  extents4 const e{2, 3, 10, 4};
  std::vector<float> x(static_cast<std::size_t>(e.size()));
  random_stream random(3);
  for (float& element : x) element = static_cast<float>(random.normal());
  ss::tensor4<float const> const qkv(x.data(), e);
  ss::softmax_attention<> const op;
  check_threads(
      6,
      [&](auto const& exec) {
        std::vector<float> y(x.size());
        ss::scratch memory;
        op.forward(exec, {qkv, qkv, qkv, {}}, ss::tensor4<float>(y.data(), e), ss::no_saved,
                   memory);
        return y;
      },
      [&](auto const& exec) { return op.template workspace_bytes<float>(exec, e, e); });
}
