// SPDX-License-Identifier: Apache-2.0
/// `stream << x` for views, extents, strides and the 16-bit types. A view prints its type, its
/// shape, its strides unless it is dense, and its values. Long axes show only the first and last
/// three:
///
///     f32 [1, 4, 2]
///     [[[ 0 10]
///       [ 1 20]
///       [ 2 30]
///       [ 3 40]]]
///
/// The host must be able to read the memory of the view. For device memory, print `shape_only(x)`.
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

/// Wraps a view to print its type, shape and strides without reading its memory.
template <class View>
struct shape_only {
  View view;
  explicit shape_only(View v) : view(v) {}
};

SLICESORT_OPERATORS_END

SLICESORT_DETAIL_BEGIN

// Prints a view of any rank.
template <class T>
class view_printer {
 public:
  view_printer(T const* data, std::vector<index_t> extents, std::vector<index_t> strides)
      : data_(data), extents_(std::move(extents)), strides_(std::move(strides)) {}

  std::string format_heading() const {
    std::string text = type_name() + ' ' + format_list(extents_);
    if (!is_dense()) text += " strides " + format_list(strides_);
    return text;
  }
  std::string format_text() const {
    std::size_t width = 0;
    for_each_cell(data_, 0, [&](std::string const& cell) { width = std::max(width, cell.size()); });
    std::string output = format_heading() + '\n';
    if (data_ == nullptr && !is_empty())
      output += "null";
    else
      write(output, data_, 0, width);
    return output;
  }

  static std::string format_cell(T value) {
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      char text[32];
      auto const as_double = static_cast<double>(static_cast<accumulator_t<T>>(value));
      std::snprintf(text, sizeof text, "%g", as_double);
      return text;
    }
  }
  static std::string format_list(std::vector<index_t> const& values) {
    std::string text;
    for (index_t n : values) text += (text.empty() ? "[" : ", ") + std::to_string(n);
    return text + ']';
  }

 private:
  static std::string type_name() {
    if constexpr (std::is_integral_v<T>)
      return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    else
      return dtype_traits<T>::name;
  }
  bool is_empty() const {
    return std::any_of(extents_.begin(), extents_.end(), [](index_t e) { return e <= 0; });
  }
  bool is_dense() const {
    index_t stride = 1;
    for (std::size_t axis = extents_.size(); axis-- > 0; stride = product(stride, extents_[axis]))
      if (extents_[axis] > 1 && strides_[axis] != stride) return false;
    return true;
  }

  // Calls f(n) for the printed positions of an axis, and f(-1) for the gap between them.
  template <class F>
  static void for_each_shown(index_t extent, F const& f) {
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
  void for_each_cell(T const* element, std::size_t axis, F const& f) const {
    if (data_ == nullptr || is_empty()) return;
    if (axis == extents_.size()) return f(format_cell(*element));
    for_each_shown(extents_[axis], [&](index_t n) {
      if (n >= 0) for_each_cell(element + n * strides_[axis], axis + 1, f);
    });
  }
  void write(std::string& output, T const* element, std::size_t axis, std::size_t width) const {
    if (axis == extents_.size()) {
      std::string const text = format_cell(*element);
      output.append(width - text.size(), ' ') += text;
      return;
    }
    bool const is_last_axis = axis + 1 == extents_.size();
    output += '[';
    if (!is_empty())
      for_each_shown(extents_[axis], [&](index_t n) {
        if (n != 0 && is_last_axis)
          output += ' ';
        else if (n != 0)
          (output += '\n').append(axis + 1, ' ');
        if (n < 0)
          output += "...";
        else
          write(output, element + n * strides_[axis], axis + 1, width);
      });
    output += ']';
  }

  T const* data_;
  std::vector<index_t> extents_, strides_;
};

template <class T>
auto printer_of(tensor1<T> v) {
  return view_printer<std::remove_const_t<T>>(v.data(), {v.size()}, {v.stride()});
}
template <class Kind>
std::vector<index_t> axes_list(axes3<Kind> const& a) {
  return {a.batch, a.length, a.channels};
}
template <class Kind>
std::vector<index_t> axes_list(axes4<Kind> const& a) {
  return {a.batch, a.heads, a.length, a.channels};
}
template <class Kind>
std::vector<index_t> axes_list(stack_axes<Kind> const& a) {
  return {a.outer, a.batch, a.length, a.channels};
}
template <class T, class Extents, class Strides>
auto printer_of(strided_view<T, Extents, Strides> v) {
  return view_printer<std::remove_const_t<T>>(v.data(), axes_list(v.extents()),
                                              axes_list(v.strides()));
}
// Calls f(printer) with the element type of an index view, which is always taken as unsigned.
template <bool Const, class F>
std::string with_printer(basic_index_tensor3<Const> v, F const& f) {
  auto const print = [&](auto const* data) {
    return f(printer_of(tensor3(data, v.extents(), v.strides())));
  };
  switch (v.width()) {
    case index_width::bits8:
      return print(static_cast<std::uint8_t const*>(v.data()));
    case index_width::bits16:
      return print(static_cast<std::uint16_t const*>(v.data()));
    case index_width::bits32:
      break;
  }
  return print(static_cast<std::uint32_t const*>(v.data()));
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// Prints a view of any shape and element type, the extents or strides of one, or a 16-bit number.
/// Reads the memory of the view, which the host must be able to read; `shape_only` does not.
///
/// - **Errors** those of the stream and of allocation.
template <bool Const>
std::ostream& operator<<(std::ostream& stream, basic_index_tensor3<Const> view) {
  return stream << detail::with_printer(view,
                                        [](auto const& printer) { return printer.format_text(); });
}
inline std::ostream& operator<<(std::ostream& stream, float16 value) {
  return stream << detail::view_printer<float16>::format_cell(value);
}
inline std::ostream& operator<<(std::ostream& stream, bfloat16 value) {
  return stream << detail::view_printer<bfloat16>::format_cell(value);
}
template <class Axes, class = decltype(detail::axes_list(std::declval<Axes const&>()))>
std::ostream& operator<<(std::ostream& stream, Axes const& axes) {
  return stream << detail::view_printer<float>::format_list(detail::axes_list(axes));
}
template <class View, class Printer = decltype(detail::printer_of(std::declval<View>()))>
std::ostream& operator<<(std::ostream& stream, View view) {
  return stream << detail::printer_of(view).format_text();
}
template <class View>
std::ostream& operator<<(std::ostream& stream, shape_only<View> wrapped) {
  return stream << detail::printer_of(wrapped.view).format_heading();
}
template <bool Const>
std::ostream& operator<<(std::ostream& stream, shape_only<basic_index_tensor3<Const>> wrapped) {
  return stream << detail::with_printer(
             wrapped.view, [](auto const& printer) { return printer.format_heading(); });
}

SLICESORT_OPERATORS_END
