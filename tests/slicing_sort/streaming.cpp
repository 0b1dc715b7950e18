// SPDX-License-Identifier: Apache-2.0
// slicing_sort with streaming stores, which large outputs may use if their rows start on cache
// lines, and with tasks that store two tiles alternately. For any number of threads, results must
// have the bits of the oracle, and nothing may be written outside the outputs.
#include "check.hpp"
#include "support/on_line.hpp"

#include <doctest/doctest.h>

using namespace support;

namespace {

template <class T, class Index>
void check_host(extents3 e, strides3 s, std::size_t offset, std::vector<index_t> const& lengths) {
  auto p = make_mixed_problem<T>(e, lengths.empty() ? ordinary_kinds : all_kinds, 31, irregular,
                                 lengths);
  random_stream random(6);
  for (T& gradient : p.dy.elements()) gradient = from_double<T>(1 + random.unit());
  compute_expected(p);
  auto doubled_dx = p.dx;  // doubling is exact
  for (T& element : doubled_dx.elements())
    element = from_double<T>(2 * static_cast<double>(decode(element).value));
  ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
  for (ss::isa set : available_isas()) {
    ss::exec::host const exec{set == ss::isa::avx2 ? 3u : 1u, set};
    guarded_workspace scratch(op.workspace_bytes<T>(exec, e));
    on_line<T> x(p.x, s, offset), dy(p.dy, s, offset), y(e, s, offset), dx(e, s, offset);
    on_line<Index> perm(e, s, offset);
    CAPTURE(p.describe());
    CAPTURE(std::string(ss::detail::isa_name(set)));
    op.forward(exec, x.view(), y.view(), {perm.view()}, scratch.get(), {p.lengths_view()});
    CHECK(difference("y", y.contents(), p.y) == "");
    CHECK(difference("perm", perm.contents(), p.perm) == "");
    op.forward(exec, x.view(), x.view(), ss::no_saved, scratch.get(), {p.lengths_view()});
    CHECK(difference("y in place", x.contents(), p.y) == "");
    op.backward(exec, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::overwrite, p.lengths_view()});
    CHECK(difference("dx", dx.contents(), p.dx) == "");
    op.backward(exec, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::accumulate, p.lengths_view()});
    CHECK(difference("dx accumulated", dx.contents(), doubled_dx) == "");
    op.backward(exec, dy.view(), {perm.view()}, dy.view(), scratch.get(),
                {ss::grad_mode::overwrite, p.lengths_view()});
    CHECK(difference("dx in place", dy.contents(), p.dx) == "");
    CHECK((y.padding_intact() && dx.padding_intact() && perm.padding_intact()));
    CHECK(scratch.red_zones_intact());
  }
}

template <class T, class Index>
void check_large(extents3 e, strides3 s, std::size_t offset, std::vector<index_t> const& lengths) {
  REQUIRE(e.size() * static_cast<index_t>(sizeof(T)) >=
          (index_t{1} << 20));  // otherwise the case is not large
  check_host<T, Index>(e, s, offset, lengths);
}

}  // namespace

TEST_CASE_TEMPLATE("rows aligned to cache lines", T, float, double, float16, bfloat16) {
  auto const elements_per_8_bytes = static_cast<index_t>(8 / sizeof(T));
  extents3 const e{3, 700, 64 * elements_per_8_bytes};  // one megabyte for every type
  check_large<T, std::uint16_t>(e, row_major(e), 0, {});
  check_large<T, std::uint32_t>(e, row_major(e), 0, {700, 350, 0});
}

TEST_CASE_TEMPLATE("a partial last tile, and gaps between rows", T, float, float16) {
  auto const elements_per_8_bytes = static_cast<index_t>(8 / sizeof(T));
  extents3 const e{2, 1100, 60 * elements_per_8_bytes};
  index_t const pitch = 64 * elements_per_8_bytes + 64;  // rows stay aligned to cache lines
  check_large<T, std::uint16_t>(e, {1100 * pitch, pitch, 1}, 0, {});
}

TEST_CASE("rows not aligned to cache lines") {
  extents3 const e{1, 2100, 128};
  check_large<float, std::uint32_t>(e, row_major(e), 1, {2099});
  check_large<float, std::uint16_t>(e, {0, 129, 1}, 0, {});
}

// A tile of the radix sort is one cache line wide. The second tile has fewer columns and is
// followed by a gap.
TEST_CASE_TEMPLATE("columns too long for sorting networks", T, float, bfloat16) {
  constexpr auto columns = 64 / static_cast<index_t>(sizeof(T));
  extents3 const e{1, 65537, columns + 3};
  check_large<T, std::uint32_t>(e, {65537 * 2 * columns, 2 * columns, 1}, 0, {});
}

TEST_CASE_TEMPLATE("tasks of two tiles, where the last tile is alone, narrower or shorter", T,
                   float, float16, bfloat16) {
  for (index_t c : {256, 257, 288, 289, 300, 320}) {
    extents3 const e{1, 300, c};
    REQUIRE(ss::detail::tiles_per_task(e, 1) == 2);
    check_host<T, std::uint16_t>(e, row_major(e), 0, {});
  }
  // Pairs of tiles whose samples have different lengths.
  extents3 const e{9, 290, 32};
  check_host<T, std::uint16_t>(e, row_major(e), 0, {290, 1, 0, 257, 33, 31, 256, 290, 5});
  check_host<T, std::uint32_t>(e, row_major(e), 0, {0, 0, 290, 290, 64, 0, 0, 17, 290});
}

TEST_CASE("more threads than pairs of tiles") {
  CHECK(ss::detail::tiles_per_task({1, 64, 512}, 2) == 2);
  CHECK(ss::detail::tiles_per_task({1, 64, 512}, 3) == 1);
}
