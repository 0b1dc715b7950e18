// SPDX-License-Identifier: Apache-2.0
// Kernels with a mistake that only a sanitizer detects, on the block executor.
// check_negative_tests.py builds and runs this program and expects a report, except for `none`.
#include "executor/block_executor.hpp"
#include "executor/faulty_kernels.hpp"

#include <cstdio>
#include <string>
#include <vector>

using namespace support;

namespace {

// A block reads data that another one writes, without an order between them.
struct between_blocks {
  static constexpr int max_threads = 1024;
  int* y;
  template <class Block>
  void operator()(Block& block) const {
    index_t const i = block.index() * block.size() + block.rank();
    y[i] = y[(i + 64) % 192] + 1;
  }
};

template <class Kernel>
void run(Kernel const& kernel) {
  launch config;
  config.blocks = 3;
  config.threads = 64;
  config.shared_bytes = slicesort::detail::shared_bytes(kernel);
  run_kernel<false>(config, kernel);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const fault = argc == 2 ? argv[1] : "";
  std::vector<int> y(192);
  std::vector<next_row::row> const rows(128);
  if (fault == "none")
    run(correct_kernel{y.data()}), run(pass_to_other_warp{{y.data()}, true}),
        run(next_row{rows.data(), y.data(), true});
  else if (fault == "missing barrier")
    run(missing_barrier{y.data()});
  else if (fault == "missing second barrier")
    run(missing_second_barrier{y.data()});
  else if (fault == "a warp's reduction for a barrier")
    run(pass_to_other_warp{{y.data()}, false});
  else if (fault == "copy before all have read")
    run(next_row{rows.data(), y.data(), false});
  else if (fault == "between blocks")
    run(between_blocks{y.data()});
  else if (fault == "past the pool")
    run(overrun{1, 64});
  else if (fault == "into the next slice")
    run(overrun{0, 64});
  else if (fault == "padding of a slice")
    run(overrun{0, 56});
  else if (fault == "before the pool")
    run(overrun{0, -1});
  else if (fault == "past the output")
    run(correct_kernel{y.data() + 1});
  else
    return 2;
  std::printf("ran to the end, %d\n", y[100]);
}
