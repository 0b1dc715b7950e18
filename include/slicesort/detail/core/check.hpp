// SPDX-License-Identifier: Apache-2.0
// Checks of an operator's arguments before anything is written. A checker records the first
// violation. The message names the argument, its value and the required value.
#pragma once

#include <slicesort/detail/core/overlap.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>

SLICESORT_DETAIL_BEGIN

// Number of lengths in memory: 1 if all samples share one by a stride of 0.
inline index_t distinct_length_count(tensor1<index_t const> lengths) {
  return lengths.stride() == 0 && lengths.size() > 1 ? 1 : lengths.size();
}

class checker {
 public:
  // `can_read_memory`: true if this thread can read the lengths.
  explicit checker(char const* operator_name, bool can_read_memory = true)
      : operator_name_(operator_name), can_read_memory_(can_read_memory) {}

  bool can_read_memory() const { return can_read_memory_; }

  status const& result() const { return status_; }
  bool ok() const { return static_cast<bool>(status_); }

  // Records the first failure. `format` is a printf format that starts with the argument's name.
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  void
  fail(error_kind kind, char const* format, ...) {
    if (!ok()) return;
    status_.kind = kind;
    int const used = std::snprintf(status_.message, sizeof status_.message, "%s: ", operator_name_);
    if (used < 0 || static_cast<std::size_t>(used) >= sizeof status_.message) return;
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(status_.message + used, sizeof status_.message - static_cast<std::size_t>(used),
                   format, args);
    va_end(args);
  }

  void fail(status const& failure) {
    if (ok()) status_ = failure;
  }

  // Checks a single view: extents are not negative; their product and all offsets stay below 2^63
  // bytes; used strides are positive (0 is allowed in inputs); elements of outputs are distinct;
  // the data pointer is aligned and not null.
  void view(view_info const& v) {
    shape(v);  // first: the strides of an invalid shape may have overflowed
    if (!ok() || v.extents.empty()) return;
    for (axis_info const& axis : axes_of(v)) check_stride(v, axis);
    if (!ok()) return;
    if (v.data == nullptr)
      fail(error_kind::argument, "%s.data is null, must point to %s", v.name, format_shape(v).text);
    check_alignment(v);
    index_t span = 0;
    bool fits = true;
    for (axis_info const& axis : axes_of(v))
      fits = fits && multiply_add(axis.extent - 1, axis.stride, span);
    if (!fits || span >= max_index / v.element_bytes)
      fail_too_large(v);
    else if (v.written)
      check_distinct(v);
    if (ok()) tensors_.add(v);
  }

  // Checks the extents of a view. Rejects large extents even if another extent is 0, because
  // backends multiply subsets of the extents.
  void shape(view_info const& v) {
    for (axis_info const& axis : axes_of(v)) check_sign(v, axis);
    if (!ok() || has_few_elements(v.extents)) return;
    if (!v.extents.empty()) return fail_too_large(v);
    fail(error_kind::argument,
         "%s %s has extents whose product without those of 0 is above 2^57, must have smaller ones",
         v.name, format_shape(v).text);
  }

  void same_extents(view_info const& v, char const* other, extents3 expected) {
    extent(v, v.axes.batch, v.extents.batch, other, expected.batch);
    extent(v, v.axes.length, v.extents.length, other, expected.length);
    extent(v, v.axes.channels, v.extents.channels, other, expected.channels);
  }
  // Checks the extent of one axis. `other` names the argument that it must match.
  void extent(view_info const& v, char const* axis, index_t actual, char const* other,
              index_t expected) {
    if (actual != expected)
      fail(error_kind::argument, "%s.%s is %lld, must be %lld (%s.%s)", v.name, axis,
           static_cast<long long>(actual), static_cast<long long>(expected), other, axis);
  }

  // Checks that the index type can hold every row index of a column.
  void index_fits(view_info const& perm, index_t length) {
    if (perm.element_bytes == 1)
      fail(error_kind::argument, "%s has 8-bit indices, must have 16-bit or 32-bit ones",
           perm.name);
    index_t const largest = perm.element_bytes == 2 ? index_t{65536} : (index_t{1} << 31);
    if (length > largest)
      fail(error_kind::argument,
           "%s has %lld-bit indices, which hold lengths up to %lld; the length is %lld", perm.name,
           static_cast<long long>(perm.element_bytes * 8), static_cast<long long>(largest),
           static_cast<long long>(length));
  }

  // Checks that row indices fit in the 32 bits that backends use.
  void rows_countable(view_info const& v) {
    index_t const largest = index_t{1} << 31;
    if (v.extents.length > largest)
      fail(error_kind::argument, "%s.length is %lld, must be at most %lld", v.name,
           static_cast<long long>(v.extents.length), static_cast<long long>(largest));
  }

  void size(char const* name, index_t actual, index_t expected, char const* other) {
    if (actual != expected)
      fail(error_kind::argument, "%s.size is %lld, must be %lld (%s)", name,
           static_cast<long long>(actual), static_cast<long long>(expected), other);
  }

  // Checks that two views share no element. With `in_place`, accepts identical views too.
  void no_overlap(view_info const& a, view_info const& b, bool in_place = false,
                  error_kind kind = error_kind::argument);

  void lengths(tensor1<index_t const> lengths, extents3 e) {
    this->lengths("lengths", lengths, e.batch, e.length);
  }
  // Checks that there are `batch` lengths, all from 0 to `limit`.
  void lengths(char const* name, tensor1<index_t const> lengths, index_t batch, index_t limit) {
    if (!ok() || (lengths.data() == nullptr && lengths.size() == 0)) return;
    size(name, lengths.size(), batch, "batch");
    if (ok() && batch > 0 && lengths.data() == nullptr)
      fail(error_kind::argument, "%s.data is null, must point to %lld lengths", name,
           static_cast<long long>(batch));
    view_info const memory = describe(name, lengths, false);
    view(memory);
    if (!ok() || batch == 0) return;
    lengths_.add(memory);
    if (!can_read_memory_) return;
    for (index_t b = 0; b < distinct_length_count(lengths); ++b) {
      index_t const n = lengths(b);
      if (n < 0 || n > limit)
        return fail(error_kind::argument, "%s[%lld] is %lld, must be in 0..%lld (length)", name,
                    static_cast<long long>(b), static_cast<long long>(n),
                    static_cast<long long>(limit));
    }
  }

  // Lets the policy validate the number of channels, or of what `quantity` names.
  template <class Policy>
  void policy(char const* name, Policy const& policy, index_t count,
              char const* quantity = "channels") {
    if constexpr (has_validate<Policy>)
      if (char const* violation = policy.validate(count))
        fail(error_kind::argument, "%s %s (%s is %lld)", name, violation, quantity,
             static_cast<long long>(count));
  }

  // Checks that no output overlaps the lengths, which are read while outputs are written.
  void no_overlap_with_lengths() {
    for (view_info const& tensor : tensors_)
      for (view_info const& lengths : lengths_)
        if (tensor.written) no_overlap(lengths, tensor);
  }
  // Checks that the workspace is large enough, and that its used part overlaps no tensor.
  void memory(workspace memory, std::size_t required_bytes) {
    check_workspace_size(memory, required_bytes);
    if (required_bytes == 0 || !ok()) return;
    view_info const scratch = describe_bytes("workspace", memory.data, required_bytes);
    for (view_info const& tensor : tensors_)
      no_overlap(scratch, tensor, false, error_kind::workspace);
  }
  bool has_outputs() const {
    for (view_info const& tensor : tensors_)
      if (tensor.written) return true;
    return false;
  }

 private:
  // Maximum number of tensors: 16 splits of merge_attention, two tensors each, and the result.
  static constexpr int max_views = 2 * 16 + 4, max_lists = 2;

  void check_workspace_size(workspace memory, std::size_t required_bytes) {
    if (memory.bytes < required_bytes)
      fail(error_kind::workspace, "workspace.bytes is %llu, must be at least %llu",
           static_cast<unsigned long long>(memory.bytes),
           static_cast<unsigned long long>(required_bytes));
    else if (required_bytes != 0 && memory.data == nullptr)
      fail(error_kind::workspace, "workspace.data is null, must point to %llu bytes",
           static_cast<unsigned long long>(required_bytes));
  }

  static constexpr index_t max_index = std::numeric_limits<index_t>::max();

  // Compute total += a * b for values >= 0, and product *= b for b > 0. Return false on overflow.
  static bool multiply_add(index_t a, index_t b, index_t& total) {
    if (a != 0 && b > (max_index - total) / a) return false;
    total += a * b;
    return true;
  }
  static bool multiply_into(index_t& product, index_t b) {
    if (product > max_index / b) return false;
    product *= b;
    return true;
  }

  // True if the nonzero extents, and thus any subset of them, have a small product.
  static bool has_few_elements(stack_extents e) {
    index_t product = 1;
    for (index_t const extent : {e.outer, e.batch, e.length, e.channels})
      if (extent != 0 && !multiply_into(product, extent)) return false;
    return product <= max_index / 64;
  }
  void fail_too_large(view_info const& v) {
    fail(error_kind::argument, "%s %s spans more than 2^63 bytes or 2^57 elements, must span less",
         v.name, format_shape(v).text);
  }

  void check_sign(view_info const& v, axis_info const& a) {
    if (a.extent >= 0) return;
    char const* const axis = a.name != nullptr ? a.name : "size";  // rank 1
    bool const split =
        a.extent == -1 && v.axes.outer != nullptr && std::strcmp(axis, "channels") == 0;
    fail(error_kind::argument, "%s.%s is %lld, must not be negative%s", v.name, axis,
         static_cast<long long>(a.extent),
         split ? " (split_heads: heads must divide the channels)" : "");
  }
  void check_stride(view_info const& v, axis_info const& a) {
    if (a.extent > 1 && (a.stride < 0 || (a.stride == 0 && v.written)))
      fail(error_kind::argument, "%s.stride%s%s is %lld, must be %s", v.name,
           a.name != nullptr ? "." : "", a.name != nullptr ? a.name : "",
           static_cast<long long>(a.stride), v.written ? "positive" : "zero or positive");
  }

  void check_alignment(view_info const& v) {
    if (reinterpret_cast<std::uintptr_t>(v.data) % static_cast<std::uintptr_t>(v.alignment) != 0)
      fail(error_kind::argument, "%s.data is %p, must be a multiple of %lld", v.name, v.data,
           static_cast<long long>(v.alignment));
  }
  void check_distinct(view_info const& v);

  char const* operator_name_;
  bool can_read_memory_;
  status status_;
  view_list<max_views> tensors_;
  view_list<max_lists> lengths_;
};

inline void checker::check_distinct(view_info const& v) {
  if (!nontrivial_axes(v).have_nested_strides())
    fail(error_kind::argument,
         "%s.strides are %s for extents %s, must give every element its own place", v.name,
         format_strides(v).text, format_shape(v).text);
}

inline void checker::no_overlap(view_info const& a, view_info const& b, bool in_place,
                                error_kind kind) {
  if (!ok() || a.extents.empty() || b.extents.empty() || !byte_overlap::between(a, b)) return;
  if (in_place && have_same_elements(a, b)) return;
  fail(kind, "%s overlaps %s (%p and %p), must %s", a.name, b.name, a.data, b.data,
       in_place ? "be the very same view or share no element" : "share no element");
}

SLICESORT_DETAIL_END
