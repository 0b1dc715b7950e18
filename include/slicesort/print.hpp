// SPDX-License-Identifier: Apache-2.0
/// `stream << x` for views, extents, strides and the 16-bit types. A view prints its type and
/// shape, its strides if it has gaps or another order, and its values, of a long axis the first and
/// last three:
///
///     f32 [1, 4, 2]
///     [[[ 0 10]
///       [ 1 20]
///       [ 2 30]
///       [ 3 40]]]
///
/// That reads the memory behind the view, which must therefore be the host's; a view cannot know.
/// Of device memory print `shape_only(x)`.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

SLICESORT_OPERATORS_BEGIN

/// A view that prints its type, shape and strides and leaves its memory alone.
template <class View>
struct shape_only {
  View view;
  explicit shape_only(View of) : view(of) {}
};

SLICESORT_OPERATORS_END

SLICESORT_DETAIL_BEGIN

// A view of any rank, and how it is printed.
template <class T>
class printed_view {
 public:
  printed_view(T const* data, std::vector<index_t> extents, std::vector<index_t> strides)
      : data_(data), extents_(std::move(extents)), strides_(std::move(strides)) {}

  // The first line.
  std::string heading() const {
    std::string text = type_name() + ' ' + list(extents_);
    if (!dense()) text += " strides " + list(strides_);
    return text;
  }
  std::string text() const {
    std::size_t width = 0;
    each_cell(data_, 0, [&](std::string const& cell) { width = std::max(width, cell.size()); });
    std::string to = heading() + '\n';
    if (data_ == nullptr && !empty())
      to += "null";
    else
      write(to, data_, 0, width);
    return to;
  }

  static std::string cell(T value) {
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      char text[32];
      auto const number = static_cast<double>(static_cast<accumulator_t<T>>(value));
      std::snprintf(text, sizeof text, "%g", number);
      return text;
    }
  }
  static std::string list(std::vector<index_t> const& numbers) {
    std::string text;
    for (index_t n : numbers) text += (text.empty() ? "[" : ", ") + std::to_string(n);
    return text + ']';
  }

 private:
  static std::string type_name() {
    if constexpr (std::is_integral_v<T>)
      return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    else
      return dtype_traits<T>::name;
  }
  bool empty() const {
    return std::any_of(extents_.begin(), extents_.end(), [](index_t e) { return e <= 0; });
  }
  bool dense() const {
    index_t stride = 1;
    for (std::size_t axis = extents_.size(); axis-- > 0; stride = product(stride, extents_[axis]))
      if (extents_[axis] > 1 && strides_[axis] != stride) return false;
    return true;
  }

  // Calls f(n) for the positions of an axis that are shown, and f(-1) where some are left out.
  template <class F>
  static void each_shown(index_t extent, F const& f) {
    constexpr index_t ends = 3;
    for (index_t n = 0; n < extent; ++n) {
      if (n == ends && extent > 2 * ends) {
        f(index_t{-1});
        n = extent - ends;
      }
      f(n);
    }
  }
  template <class F>
  void each_cell(T const* at, std::size_t axis, F const& f) const {
    if (data_ == nullptr || empty()) return;
    if (axis == extents_.size()) return f(cell(*at));
    each_shown(extents_[axis], [&](index_t n) {
      if (n >= 0) each_cell(at + n * strides_[axis], axis + 1, f);
    });
  }
  void write(std::string& to, T const* at, std::size_t axis, std::size_t width) const {
    if (axis == extents_.size()) {
      std::string const text = cell(*at);
      to.append(width - text.size(), ' ') += text;
      return;
    }
    bool const columns = axis + 1 == extents_.size();
    to += '[';
    if (!empty())
      each_shown(extents_[axis], [&](index_t n) {
        if (n != 0 && columns)
          to += ' ';
        else if (n != 0)
          (to += '\n').append(axis + 1, ' ');
        if (n < 0)
          to += "...";
        else
          write(to, at + n * strides_[axis], axis + 1, width);
      });
    to += ']';
  }

  T const* data_;
  std::vector<index_t> extents_, strides_;
};

template <class T>
auto printed(tensor1<T> v) {
  return printed_view<std::remove_const_t<T>>(v.data(), {v.size()}, {v.stride()});
}
template <class Kind>
std::vector<index_t> listed(axes3<Kind> const& a) {
  return {a.batch, a.length, a.channels};
}
template <class Kind>
std::vector<index_t> listed(axes4<Kind> const& a) {
  return {a.batch, a.heads, a.length, a.channels};
}
template <class Kind>
std::vector<index_t> listed(stack_axes<Kind> const& a) {
  return {a.outer, a.batch, a.length, a.channels};
}
template <class T, class Extents, class Strides>
auto printed(strided_view<T, Extents, Strides> v) {
  return printed_view<std::remove_const_t<T>>(v.data(), listed(v.extents()), listed(v.strides()));
}
// f(view with a type) for an index view, whose type is known at run time; unsigned, which indices
// are whatever type they were saved as.
template <bool Const, class F>
std::string typed(basic_index_tensor3<Const> v, F const& f) {
  auto const as = [&](auto const* data) {
    return f(printed(tensor3(data, v.extents(), v.strides())));
  };
  switch (v.width()) {
    case index_width::bits8:
      return as(static_cast<std::uint8_t const*>(v.data()));
    case index_width::bits16:
      return as(static_cast<std::uint16_t const*>(v.data()));
    case index_width::bits32:
      break;
  }
  return as(static_cast<std::uint32_t const*>(v.data()));
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

template <bool Const>
std::ostream& operator<<(std::ostream& to, basic_index_tensor3<Const> view) {
  return to << detail::typed(view, [](auto const& known) { return known.text(); });
}
inline std::ostream& operator<<(std::ostream& to, float16 value) {
  return to << detail::printed_view<float16>::cell(value);
}
inline std::ostream& operator<<(std::ostream& to, bfloat16 value) {
  return to << detail::printed_view<bfloat16>::cell(value);
}
template <class Kind>
std::ostream& operator<<(std::ostream& to, axes3<Kind> const& axes) {
  return to << detail::printed_view<float>::list(detail::listed(axes));
}
template <class Kind>
std::ostream& operator<<(std::ostream& to, axes4<Kind> const& axes) {
  return to << detail::printed_view<float>::list(detail::listed(axes));
}
template <class Kind>
std::ostream& operator<<(std::ostream& to, stack_axes<Kind> const& axes) {
  return to << detail::printed_view<float>::list(detail::listed(axes));
}
template <class T>
std::ostream& operator<<(std::ostream& to, tensor1<T> view) {
  return to << detail::printed(view).text();
}
template <class T, class Extents, class Strides>
std::ostream& operator<<(std::ostream& to, strided_view<T, Extents, Strides> view) {
  return to << detail::printed(view).text();
}
template <class View>
std::ostream& operator<<(std::ostream& to, shape_only<View> of) {
  return to << detail::printed(of.view).heading();
}
template <bool Const>
std::ostream& operator<<(std::ostream& to, shape_only<basic_index_tensor3<Const>> of) {
  return to << detail::typed(of.view, [](auto const& known) { return known.heading(); });
}

SLICESORT_OPERATORS_END
