// SPDX-License-Identifier: Apache-2.0
// Large outputs whose rows start on cache lines may be written around the cache: the same bits as
// for outputs that are small or off the lines, from any number of threads, with nothing written
// beside them.
#include "support/sort_check.hpp"

#include <doctest/doctest.h>

using namespace support;

namespace {

// A tensor at an address `off` elements past a cache line, with red zones.
template <class T>
class on_line {
 public:
  on_line(extents3 e, strides3 s, std::size_t off = 0) : storage_(bytes(e, s), pattern) {
    auto const address = reinterpret_cast<std::uintptr_t>(storage_.data());
    auto* const first = storage_.data() + 64 + (64 - address % 64) + off * sizeof(T);
    view_ = {reinterpret_cast<T*>(first), e, s};
  }
  on_line(tensor<T> const& contents, strides3 s, std::size_t off = 0)
      : on_line(contents.extents(), s, off) {
    put(contents);
  }

  tensor3<T> view() const { return view_; }
  void put(tensor<T> const& contents) {
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { view_(b, n, c) = contents(b, n, c); });
  }
  tensor<T> contents() const {
    tensor<T> t(view_.extents());
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { t(b, n, c) = view_(b, n, c); });
    return t;
  }
  // Takes the elements out and looks at what is left.
  bool gaps_untouched() {
    T untouched;
    std::memset(static_cast<void*>(&untouched), pattern, sizeof(T));
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { view_(b, n, c) = untouched; });
    return std::all_of(storage_.begin(), storage_.end(),
                       [](unsigned char byte) { return byte == pattern; });
  }

 private:
  static constexpr unsigned char pattern = 0xa5;
  static std::size_t bytes(extents3 e, strides3 s) {
    index_t const span =
        (e.batch - 1) * s.batch + (e.length - 1) * s.length + (e.channels - 1) * s.channels + 1;
    return static_cast<std::size_t>(span + 64) * sizeof(T) + 256;
  }

  std::vector<unsigned char> storage_;
  tensor3<T> view_;
};

template <class T, class Index>
void check_large(extents3 e, strides3 s, std::size_t off, std::vector<index_t> const& lengths) {
  REQUIRE(e.size() * static_cast<index_t>(sizeof(T)) >=
          (index_t{1} << 20));  // else the case is not large
  auto p = make_mixed_problem<T>(e, lengths.empty() ? ordinary_kinds : all_kinds, 31, irregular,
                                 lengths);
  random_stream random(6);
  for (T& gradient : p.dy.elements()) gradient = from_double<T>(1 + random.unit());
  solve(p);
  auto twice = p.dx;  // doubling is exact
  for (T& element : twice.elements())
    element = from_double<T>(2 * static_cast<double>(decode(element).value));
  ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
  for (ss::isa set : available_isas()) {
    ss::exec::host const on{set == ss::isa::avx2 ? 3u : 1u, set};
    guarded_workspace scratch(op.workspace_bytes<T>(on, e));
    on_line<T> x(p.x, s, off), dy(p.dy, s, off), y(e, s, off), dx(e, s, off);
    on_line<Index> perm(e, s, off);
    CAPTURE(p.describe());
    CAPTURE(ss::impl::isa_name(set));
    op.forward(on, x.view(), y.view(), {perm.view()}, scratch.get(), {p.lengths_view()});
    CHECK(difference("y", y.contents(), p.y) == "");
    CHECK(difference("perm", perm.contents(), p.perm) == "");
    op.forward(on, x.view(), x.view(), ss::no_saved, scratch.get(), {p.lengths_view()});
    CHECK(difference("y in place", x.contents(), p.y) == "");
    op.backward(on, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::overwrite, p.lengths_view()});
    CHECK(difference("dx", dx.contents(), p.dx) == "");
    op.backward(on, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::accumulate, p.lengths_view()});
    CHECK(difference("dx accumulated", dx.contents(), twice) == "");
    op.backward(on, dy.view(), {perm.view()}, dy.view(), scratch.get(),
                {ss::grad_mode::overwrite, p.lengths_view()});
    CHECK(difference("dx in place", dy.contents(), p.dx) == "");
    CHECK((y.gaps_untouched() && dx.gaps_untouched() && perm.gaps_untouched()));
    CHECK(scratch.red_zones_intact());
  }
}

}  // namespace

TEST_CASE_TEMPLATE("rows on cache lines", T, float, double, float16, bfloat16) {
  auto const wide = static_cast<index_t>(8 / sizeof(T));  // the same megabyte for every type
  extents3 const e{3, 700, 64 * wide};
  check_large<T, std::uint16_t>(e, row_major(e), 0, {});
  check_large<T, std::uint32_t>(e, row_major(e), 0, {700, 350, 0});
}

TEST_CASE_TEMPLATE("a tail after the whole tiles, and gaps between the rows", T, float, float16) {
  auto const wide = static_cast<index_t>(8 / sizeof(T));
  extents3 const e{2, 1100, 60 * wide};
  index_t const pitch = 64 * wide + 64;  // rows stay on lines
  check_large<T, std::uint16_t>(e, {1100 * pitch, pitch, 1}, 0, {});
}

TEST_CASE("off the lines") {
  extents3 const e{1, 2100, 128};
  check_large<float, std::uint32_t>(e, row_major(e), 1, {2099});
  check_large<float, std::uint16_t>(e, {0, 129, 1}, 0, {});
}
