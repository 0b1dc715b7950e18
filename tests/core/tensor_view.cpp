// SPDX-License-Identifier: Apache-2.0
// Views, saved state and operators as types: conversions, and trivial copies.
#include "slicing_sort/check.hpp"

#include <doctest/doctest.h>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

using namespace support;

namespace {

// The members of std::mdspan that views use.
template <class T, std::size_t Rank>
struct span_like {
  T* pointer;
  std::size_t extents[Rank], strides[Rank];

  static constexpr std::size_t rank() { return Rank; }
  constexpr std::size_t extent(std::size_t r) const { return extents[r]; }
  constexpr std::size_t stride(std::size_t r) const { return strides[r]; }
  constexpr T* data_handle() const { return pointer; }
};

template <class From, class To>
constexpr bool is_convertible = std::is_convertible_v<From, To>;

using ss::tensor1;
using ss::tensor4;
using ss::tensor_stack;

static_assert(std::is_trivially_copyable_v<tensor3<float>>, "passed by value");
static_assert(std::is_trivially_copyable_v<tensor1<float const>>, "passed by value");
static_assert(std::is_trivially_copyable_v<ss::index_tensor3>, "passed by value");
static_assert(std::is_trivially_copyable_v<ss::saved_permutation>, "passed by value");
static_assert(std::is_trivially_copyable_v<ss::workspace>, "passed by value");
static_assert(sizeof(ss::slicing_sort<>) == 1, "an operator is its policies");
static_assert(std::is_trivially_copyable_v<ss::slicing_sort<ss::interleave>>,
              "no state beside the policies");
static_assert(sizeof(ss::slicing_sort<ss::interleave>) == sizeof(ss::interleave),
              "no state beside the policies");

static_assert(is_convertible<tensor3<float>, tensor3<float const>>, "const may be added");
static_assert(!is_convertible<tensor3<float const>, tensor3<float>>, "const may not be dropped");
static_assert(!is_convertible<tensor3<float>, tensor3<double>>, "no conversion of elements");
static_assert(!is_convertible<tensor3<float>, tensor3<double const>>, "no conversion of elements");
static_assert(is_convertible<tensor1<index_t>, tensor1<index_t const>>, "const may be added");
static_assert(!is_convertible<tensor1<int>, tensor1<index_t const>>, "no conversion of elements");

static_assert(is_convertible<span_like<float, 3>, tensor3<float>>, "mdspan-like");
static_assert(is_convertible<span_like<float, 3>, tensor3<float const>>, "mdspan-like");
static_assert(is_convertible<span_like<index_t const, 1>, tensor1<index_t const>>, "mdspan-like");
static_assert(!is_convertible<span_like<float, 2>, tensor3<float>>, "rank 3 only");
static_assert(!is_convertible<span_like<float, 3>, tensor1<float>>, "rank 1 only");

static_assert(is_convertible<tensor3<std::uint16_t>, ss::index_tensor3>, "16 bits");
static_assert(is_convertible<tensor3<std::int32_t>, ss::index_tensor3>, "32 bits");
static_assert(is_convertible<tensor3<std::uint32_t const>, ss::const_index_tensor3>, "read only");
static_assert(!is_convertible<tensor3<std::uint32_t const>, ss::index_tensor3>,
              "cannot be written");
static_assert(!is_convertible<tensor3<std::int64_t>, ss::index_tensor3>, "no 64-bit indices");
static_assert(!is_convertible<tensor3<std::int16_t>, ss::index_tensor3>,
              "would lose half the rows");
static_assert(!is_convertible<tensor3<float>, ss::index_tensor3>, "not an index");
static_assert(is_convertible<span_like<std::uint16_t, 3>, ss::index_tensor3>, "mdspan-like");
static_assert(is_convertible<ss::index_tensor3, ss::const_index_tensor3>, "const may be added");
static_assert(is_convertible<ss::saved_permutation, ss::const_saved_permutation>,
              "forward to backward");

// Conversions of tensor4 and tensor_stack.
template <template <class> class View>
constexpr bool has_expected_conversions() {
  static_assert(std::is_trivially_copyable_v<View<float>>, "passed by value");
  static_assert(is_convertible<View<float>, View<float const>>, "const may be added");
  static_assert(!is_convertible<View<float const>, View<float>>, "const may not be dropped");
  static_assert(!is_convertible<View<float>, View<double>>, "no conversion of elements");
  static_assert(!is_convertible<View<float>, tensor3<float>>, "a stack of several tensors");
  static_assert(is_convertible<span_like<float, 4>, View<float>>, "mdspan-like");
  static_assert(is_convertible<span_like<float, 4>, View<float const>>, "mdspan-like");
  static_assert(!is_convertible<span_like<float, 3>, View<float>>,
                "a view of rank 3 must say so itself");
  return true;
}
static_assert(has_expected_conversions<tensor4>() && has_expected_conversions<tensor_stack>());
static_assert(is_convertible<tensor3<float>, tensor_stack<float>>, "a stack of one");
static_assert(is_convertible<tensor3<float>, tensor_stack<float const>>,
              "a stack of one, and const");
static_assert(!is_convertible<tensor3<float const>, tensor_stack<float>>,
              "const may not be dropped");
static_assert(!is_convertible<tensor3<float>, tensor4<float>>, "the missing axis is ambiguous");
static_assert(!is_convertible<tensor4<float>, tensor_stack<float>>, "different axes");
static_assert(!is_convertible<tensor_stack<float>, tensor4<float>>, "different axes");
static_assert(!is_convertible<span_like<float, 4>, tensor3<float>>, "rank 3 only");

static_assert(row_major(extents3{2, 3, 5}) == strides3{15, 5, 1}, "channels fastest");
template <class Extents, class Strides>
constexpr bool has_four_axes() {
  static_assert(row_major(Extents{7, 2, 3, 5}) == Strides{30, 15, 5, 1}, "outer slowest");
  static_assert(Extents{7, 2, 3, 5}.size() == 210, "size");
  static_assert(!Extents{7, 2, 3, 5}.empty() && Extents{0, 2, 3, 5}.empty(), "empty");
  static_assert(Extents{7, 2, 0, 5}.empty(), "empty");
  static_assert(Extents{7, 2, 3, 5} != Extents{6, 2, 3, 5}, "the first extent is compared");
  static_assert(Extents{7, 2, 3, 5} != Extents{7, 2, 3, 4}, "channels are compared");
  return true;
}
static_assert(has_four_axes<ss::extents4, ss::strides4>());
static_assert(has_four_axes<ss::stack_extents, ss::stack_strides>());
static_assert(ss::extents4{7, 2, 3, 5}.heads == 2 && ss::strides4{7, 2, 3, 5}.heads == 2, "heads");
static_assert(ss::extents4{7, 2, 3, 5}.sample() == extents3{2, 3, 5}, "one sample");
static_assert(ss::stack_extents{7, 2, 3, 5}.tensor() == extents3{2, 3, 5}, "one of the stack");
static_assert(extents3{2, 3, 5}.size() == 30 && !extents3{2, 3, 5}.empty(), "size");
static_assert(extents3{2, 0, 5}.empty() && extents3{2, 0, 5} != extents3{2, 5, 0}, "empty");

}  // namespace

TEST_CASE("a view reads the elements that it points to") {
  std::vector<int> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  tensor3<int> const v(data.data() + 4, {2, 3, 4}, {40, 2, 7});
  CHECK(v(1, 2, 3) == 4 + 40 + 4 + 21);
  CHECK(&v(1, 0, 0) == data.data() + 44);
  tensor1<int> const w(data.data(), 5, 3);
  CHECK(w(4) == 12);
  tensor3<int const> const c = v;
  CHECK(c.data() == v.data());
  CHECK(c.strides() == v.strides());
  CHECK(c.extents() == v.extents());
}

TEST_CASE("a stack of tensors") {
  std::vector<int> data(300);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  tensor_stack<int> const v(data.data() + 4, {3, 2, 3, 4}, {90, 40, 2, 7});
  CHECK(v(2, 1, 2, 3) == 4 + 180 + 40 + 4 + 21);
  CHECK(v[2].extents() == extents3{2, 3, 4});
  CHECK(v[2].strides() == strides3{40, 2, 7});
  CHECK(&v[2](1, 2, 3) == &v(2, 1, 2, 3));
  tensor_stack<int const> const c = v;
  CHECK(c.data() == v.data());
  CHECK(c.strides() == v.strides());
  CHECK(c.extents() == v.extents());

  tensor_stack<int const> const single = v[1];
  CHECK(single.extents() == ss::stack_extents{1, 2, 3, 4});
  CHECK(&single(0, 1, 2, 3) == &v(1, 1, 2, 3));
  tensor_stack<int> const dense(data.data(), {3, 2, 3, 4});
  CHECK(dense(2, 1, 2, 3) == 71);

  tensor_stack<int> const empty_stack;
  CHECK(empty_stack.extents().empty());
  CHECK(empty_stack[5].data() == nullptr);
}

TEST_CASE("heads of a tensor") {
  std::vector<int> data(300);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
  // [batch, length, heads * channels], with gaps.
  tensor3<int> const x(data.data() + 4, {2, 5, 12}, {100, 15, 1});
  tensor4<int> const heads = ss::split_heads(x, 3);
  CHECK(heads.extents() == ss::extents4{2, 3, 5, 4});
  for_each_position({2, 5, 12}, [&](index_t b, index_t n, index_t c) {
    CHECK(&heads(b, c / 4, n, c % 4) == &x(b, n, c));
  });
  // Strided channels; one head; a head for every channel.
  tensor3<int> const strided_channels(data.data(), {2, 5, 12}, {120, 1, 10});
  CHECK(&ss::split_heads(strided_channels, 2)(1, 1, 3, 4) == &strided_channels(1, 3, 10));
  CHECK(ss::split_heads(x, 1).extents() == ss::extents4{2, 1, 5, 12});
  CHECK(ss::split_heads(x, 12).extents() == ss::extents4{2, 12, 5, 1});
  CHECK(&ss::split_heads(x, 12)(1, 7, 2, 0) == &x(1, 2, 7));
  tensor3<int const> const read_only = x;
  CHECK(&ss::split_heads(read_only, 3)(1, 2, 4, 3) == &x(1, 4, 11));
  // An invalid number of heads yields a view that operators reject.
  for (index_t invalid_heads : {0, -1, 5, 24})
    CHECK(ss::split_heads(x, invalid_heads).extents().channels == -1);
}

TEST_CASE("index views know their width") {
  std::uint16_t narrow[6];
  std::int32_t wide[6];
  ss::index_tensor3 const a = tensor3<std::uint16_t>(narrow, {1, 2, 3});
  ss::index_tensor3 const b = tensor3<std::int32_t>(wide, {1, 2, 3}, {6, 1, 2});
  CHECK(a.width() == ss::index_width::bits16);
  CHECK(b.width() == ss::index_width::bits32);
  CHECK(a.data() == narrow);
  CHECK(b.strides() == strides3{6, 1, 2});
}

TEST_CASE("an operator accepts any type with the members of mdspan") {
  auto const p = make_problem<float>({2, 10, 3}, input_kind::specials, 5, up, {10, 4});
  tensor<float> y({2, 10, 3}), dx({2, 10, 3});
  tensor<std::uint16_t> perm({2, 10, 3});
  auto const span = [](auto* data) {
    return span_like<std::remove_reference_t<decltype(*data)>, 3>{data, {2, 10, 3}, {30, 3, 1}};
  };
  span_like<index_t const, 1> const lengths{p.lengths.data(), {2}, {1}};
  ss::slicing_sort<> const op;
  ss::exec::host const exec{};
  guarded_workspace scratch(op.workspace_bytes<float>(exec, {2, 10, 3}));
  auto const x = span(p.x.elements().data());
  auto const saved = span(perm.elements().data());
  op.forward(exec, x, span(y.elements().data()), {saved}, scratch.get(), {lengths});
  op.backward(exec, span(p.dy.elements().data()), {saved}, span(dx.elements().data()),
              scratch.get(), {ss::grad_mode::overwrite, lengths});
  CHECK(difference("y", y, p.y) == "");
  CHECK(difference("perm", perm, p.perm) == "");
  CHECK(difference("dx", dx, p.dx) == "");
}
