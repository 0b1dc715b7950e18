// SPDX-License-Identifier: Apache-2.0
// Two entries, the second with an invalid name or the name of the first.
#include <slicesort/bench.hpp>

namespace {

struct no_operation {
  static constexpr bool has_backward = false, has_oracle = false;

  void forward(slicesort::exec::host, slicesort::tensor3<float const>,
               slicesort::tensor3<float>) const {}
};
slicesort::bench::entry const first("twice", no_operation{});
slicesort::bench::entry const second(SECOND_NAME, no_operation{});

}  // namespace
