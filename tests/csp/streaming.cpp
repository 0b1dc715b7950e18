// SPDX-License-Identifier: Apache-2.0
// csp with large outputs, which streaming stores may write. Rows are aligned to cache lines or not,
// and the results must have the same bits.
#include "check.hpp"
#include "support/on_line.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace support;

namespace {

template <class T>
void check_large(extents3 e, index_t group, index_t reference, std::uint64_t seed, strides3 strides,
                 std::size_t offset) {
  // Smaller outputs are not streamed.
  REQUIRE(e.size() * static_cast<index_t>(sizeof(T)) >= index_t{1} << 20);
  csp_problem<T> p;
  p.x = mixed_tensor<T>(e, seed % 2 == 0 ? all_kinds : ordinary_kinds, seed);
  p.dy = tensor<T>(e);
  random_stream random(seed);
  for (T& gradient : p.dy.elements()) gradient = from_double<T>(1 + random.unit());
  if (seed % 3 == 0) p.lengths.assign(static_cast<std::size_t>(e.batch), e.length / 2);
  p.group = group;
  p.reference = reference;
  p.order = seed % 4 < 2 ? up : irregular;
  p.shifts.seed = seed % 8 < 4 ? seed : 0;
  compute_expected(p);
  auto doubled_dx = p.dx;  // doubling is exact
  for (T& element : doubled_dx.elements())
    element = from_double<T>(2 * static_cast<double>(decode(element).value));
  with_csp(p, [&](auto const& op) {
    for (ss::isa set : available_isas()) {
      ss::exec::host const exec{set == ss::isa::avx2 ? 3u : 1u, set};
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      on_line<T> x(p.x, strides, offset), dy(p.dy, strides, offset), y(e, strides, offset),
          dx(e, strides, offset);
      guarded_order_buffer order(op.saved_extents(e), op.saved_width(e));
      auto const lengths = view_of(p.lengths);
      CAPTURE(p.describe());
      CAPTURE(std::string(ss::detail::isa_name(set)));
      op.forward(exec, x.view(), y.view(), {order.view()}, scratch.get(), {lengths});
      CHECK(difference("y", y.contents(), p.y) == "");
      CHECK(difference("order", order.contents(), p.saved) == "");
      op.forward(exec, x.view(), x.view(), ss::no_saved, scratch.get(), {lengths});
      CHECK(difference("y in place", x.contents(), p.y) == "");
      op.backward(exec, dy.view(), {order.view()}, dx.view(), scratch.get(),
                  {ss::grad_mode::overwrite, lengths});
      CHECK(difference("dx", dx.contents(), p.dx) == "");
      op.backward(exec, dy.view(), {order.view()}, dx.view(), scratch.get(),
                  {ss::grad_mode::accumulate, lengths});
      CHECK(difference("dx accumulated", dx.contents(), doubled_dx) == "");
      op.backward(exec, dy.view(), {order.view()}, dy.view(), scratch.get(),
                  {ss::grad_mode::overwrite, lengths});
      CHECK(difference("dx in place", dy.contents(), p.dx) == "");
      CHECK((y.padding_intact() && dx.padding_intact() && order.padding_intact()));
      CHECK(scratch.red_zones_intact());
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("rows with and without cache line alignment" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double, float16, bfloat16) {
  auto const elements_per_8_bytes =
      static_cast<index_t>(8 / sizeof(T));  // one megabyte for every type
  extents3 const e{2, 1025, 64 * elements_per_8_bytes};
  std::uint64_t seed = 8 / sizeof(T);
  for (index_t group : {1, 2, 3, 64, 300})
    for (index_t reference : {no_reference, index_t{1}})
      for (int repeat = 0; repeat < 8; ++repeat) {
        ++seed;
        if (!full_suite() && seed % 17 != 0) continue;
        check_large<T>(e, group, reference, seed, row_major(e), seed % 5 == 0 ? 1 : 0);
      }
}

TEST_CASE_TEMPLATE("a partial last tile, and gaps between rows" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, float16) {
  auto const elements_per_8_bytes = static_cast<index_t>(8 / sizeof(T));
  extents3 const e{1, 2200, 60 * elements_per_8_bytes};
  index_t const pitch = 64 * elements_per_8_bytes + 64;  // rows stay aligned to cache lines
  for (index_t group : {1, 2, 5})
    for (index_t reference : {no_reference, index_t{0}})
      if (full_suite() || group == 2 || (reference == no_reference && sizeof(T) == 4))
        check_large<T>(e, group, reference, static_cast<std::uint64_t>(group + 3),
                       {2200 * pitch, pitch, 1}, 0);
}
