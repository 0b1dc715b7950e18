// SPDX-License-Identifier: Apache-2.0
// User-defined tuning: a stateless selector receives the device's properties, the element size and
// the default, and returns the tuning to use. It changes speed, never a bit of the result.
#include "support/device_array.hpp"

#include <slicesort/slicesort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

// [snippet]
// Small tiles let more blocks share a multiprocessor; short runs force the merge path even for 1000
// rows.
struct small_blocks {
  ss::sort_tuning operator()(ss::device_info device, std::size_t element_bytes,
                             ss::sort_tuning tuning) const {
    if (device.architecture >= 80 && element_bytes == sizeof(float)) {
      tuning.tile_columns = 2;
      tuning.tile_threads = 64;
      tuning.run_rows = 256;
    }
    return tuning;
  }
  // Merges in small chunks: less workspace, more launches.
  ss::grid_tuning operator()(ss::device_info, std::size_t, ss::grid_tuning tuning) const {
    tuning.chunk_elements = 2000;
    return tuning;
  }
};
// [/snippet]

namespace {

struct result {
  std::vector<float> y;
  std::vector<std::uint16_t> perm;
  bool operator==(result const& other) const { return y == other.y && perm == other.perm; }
};

template <class Exec>
result sort(Exec exec, device_array<float> const& x, ss::extents3 shape) {
  ss::slicing_sort<> const op;
  device_array<float> const y(x.size());
  device_array<std::uint16_t> const perm(x.size());
  ss::basic_scratch memory(stream_bytes(exec.stream));
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  return {y.download(exec.stream), perm.download(exec.stream)};
}

}  // namespace

int main() {
  skip_without_device();
  ss::extents3 const shape{2, 1000, 3};
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009);
  device_array<float> const x(values.size());

  ss::exec::cuda const exec{};  // the default stream
  x.upload(values, exec.stream);
  result const first = sort(exec, x, shape), second = sort(exec.tune(small_blocks{}), x, shape);
  std::printf("smallest and largest of the first column: %d %d\n",
              static_cast<int>(first.y.front()), static_cast<int>(first.y[999 * 3]));
  std::printf("another tuning: %s\n", first == second ? "the same bits" : "different bits");
}

// output:
// smallest and largest of the first column: 0 1008
// another tuning: the same bits
