// SPDX-License-Identifier: Apache-2.0
// slicing_sort in orders that are known at compile time. The operator tests use an order selected
// at run time, and hence different kernels. The bits must equal the host's.
#include "backend/device.hpp"

#include "support/inputs.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

// Splits columns of 500 rows into two runs, and columns of 1000 rows into four.
struct short_runs {
  ss::sort_tuning operator()(ss::device_info, std::size_t, ss::sort_tuning tuning) const {
    tuning.tile_columns = 2;
    tuning.tile_threads = 64;
    tuning.run_rows = 256;
    return tuning;
  }
};

template <class Order, class T, class Exec>
void check_order(Exec const& exec, device_stream const& stream, extents3 e) {
  ss::slicing_sort<Order> const op;
  tensor<T> x(e), dy(e), y(e), dx(e);
  tensor<std::uint16_t> perm(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      auto const column_seed = static_cast<std::uint64_t>(b * e.channels + c);
      constexpr input_kind kinds[] = {input_kind::normal, input_kind::few_unique,
                                      input_kind::specials};
      input_kind const kind = kinds[column_seed % 3];
      x.set_column(b, c, make_column<T>(kind, static_cast<std::size_t>(e.length), column_seed));
      dy.set_column(
          b, c,
          make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length), column_seed));
    }
  std::vector<unsigned char> host_scratch(op.template workspace_bytes<T>(ss::exec::host{}, e));
  op.forward(ss::exec::host{}, x.view(), y.view(), {perm.view()}, host_scratch);
  op.backward(ss::exec::host{}, dy.view(), {perm.view()}, dx.view(), host_scratch);

  device_tensor<T> const device_x(x), device_y(e), device_dy(dy), device_dx(e);
  device_tensor<std::uint16_t> const device_perm(e);
  device_bytes const scratch(op.template workspace_bytes<T>(exec, e));
  ss::workspace const workspace{scratch.data(), scratch.size()};
  op.forward(exec, device_x.view(), device_y.view(), {device_perm.view()}, workspace);
  op.backward(exec, device_dy.view(), {device_perm.view()}, device_dx.view(), workspace);
  stream.wait();
  CAPTURE(e.length);
  CHECK(same_bits(device_y.download().elements(), y.elements()));
  CHECK(device_perm.download().elements() == perm.elements());
  CHECK(same_bits(device_dx.download().elements(), dx.elements()));
  op.forward(exec, device_x.view(), device_x.view(), ss::no_saved, workspace);
  stream.wait();
  CHECK(same_bits(device_x.download().elements(), y.elements()));
}

// Lengths for the kernels of 16, 32, 64 and 128 rows in registers, a tile, two runs in a cluster,
// and merged runs.
template <class Order, class T>
void check_every_kernel() {
  device_stream const stream;
  ss::exec::cuda const exec{stream.get()};
  for (index_t length : {10, 30, 60, 120, 700}) check_order<Order, T>(exec, stream, {2, length, 5});
  for (index_t length : {500, 1000})
    check_order<Order, T>(exec.tune(short_runs{}), stream, {2, length, 3});
}

}  // namespace

TEST_CASE_TEMPLATE("ascending", T, float, double, float16, bfloat16) {
  check_every_kernel<ss::ascending, T>();
}
TEST_CASE("interleaved") { check_every_kernel<ss::haar_interleave, float>(); }
