// SPDX-License-Identifier: Apache-2.0
// Kernels with a mistake that only a sanitizer sees, on the block executor. Built and run by
// check_planted_faults.py, which wants a report; with `none`, which is right, there must be none.
#include "executor/block_executor.hpp"
#include "executor/planted_bodies.hpp"

#include <cstdio>
#include <string>
#include <vector>

using namespace support;

namespace {

// What one block wrote is read by another: nothing orders the two.
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
  launch how;
  how.blocks = 3;
  how.threads = 64;
  how.shared_bytes = slicesort::detail::shared_bytes(kernel);
  run_kernel<false>(how, kernel);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const fault = argc == 2 ? argv[1] : "";
  std::vector<int> y(192);
  std::vector<next_row::row> const rows(128);
  if (fault == "none")
    run(right{y.data()}), run(to_the_other_warp{{y.data()}, true}),
        run(next_row{rows.data(), y.data(), true});
  else if (fault == "missing barrier")
    run(missing_barrier{y.data()});
  else if (fault == "missing second barrier")
    run(missing_second_barrier{y.data()});
  else if (fault == "a warp's meeting for a barrier")
    run(to_the_other_warp{{y.data()}, false});
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
    run(right{y.data() + 1});
  else
    return 2;
  std::printf("ran to the end, %d\n", y[100]);
}
