// SPDX-License-Identifier: Apache-2.0
// Slicing-sort in orders that are known when compiled, as users have them: other kernels than the
// operator suite's, whose order is decided at run time. On a GPU as on the host, bit by bit.
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

// Columns of 500 rows are two runs, of a thousand rows four.
struct short_runs {
  ss::sort_tuning operator()(ss::device_info, std::size_t, ss::sort_tuning tuning) const {
    tuning.tile_columns = 2;
    tuning.tile_threads = 64;
    tuning.run_rows = 256;
    return tuning;
  }
};

template <class Order, class T, class Exec>
void check(Exec const& exec, device_stream const& stream, extents3 e) {
  ss::slicing_sort<Order> const op;
  tensor<T> x(e), dy(e), y(e), dx(e);
  tensor<std::uint16_t> perm(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      auto const number = static_cast<std::uint64_t>(b * e.channels + c);
      constexpr input_kind kinds[] = {input_kind::normal, input_kind::few_unique,
                                      input_kind::specials};
      input_kind const kind = kinds[number % 3];
      x.set_column(b, c, make_column<T>(kind, static_cast<std::size_t>(e.length), number));
      dy.set_column(b, c,
                    make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length), number));
    }
  std::vector<unsigned char> host_scratch(op.template workspace_bytes<T>(ss::exec::host{}, e));
  op.forward(ss::exec::host{}, x.view(), y.view(), {perm.view()}, host_scratch);
  op.backward(ss::exec::host{}, dy.view(), {perm.view()}, dx.view(), host_scratch);

  device_tensor<T> const from(x), to(e), gradient(dy), back(e);
  device_tensor<std::uint16_t> const rows(e);
  device_bytes const scratch(op.template workspace_bytes<T>(exec, e));
  ss::workspace const lent{scratch.data(), scratch.size()};
  op.forward(exec, from.view(), to.view(), {rows.view()}, lent);
  op.backward(exec, gradient.view(), {rows.view()}, back.view(), lent);
  stream.wait();
  CAPTURE(e.length);
  CHECK(same_bits(to.download().elements(), y.elements()));
  CHECK(rows.download().elements() == perm.elements());
  CHECK(same_bits(back.download().elements(), dx.elements()));
  op.forward(exec, from.view(), from.view(), ss::no_saved, lent);
  stream.wait();
  CHECK(same_bits(from.download().elements(), y.elements()));
}

// Registers of 16, 32, 64 and 128 rows, a tile, two runs in a cluster, merged runs.
template <class Order, class T>
void check_all() {
  device_stream const stream;
  ss::exec::cuda const exec{stream.get()};
  for (index_t length : {10, 30, 60, 120, 700}) check<Order, T>(exec, stream, {2, length, 5});
  for (index_t length : {500, 1000})
    check<Order, T>(exec.tune(short_runs{}), stream, {2, length, 3});
}

}  // namespace

TEST_CASE_TEMPLATE("ascending", T, float, double, float16, bfloat16) {
  check_all<ss::ascending, T>();
}
TEST_CASE("interleaved") { check_all<ss::haar_interleave, float>(); }
