// SPDX-License-Identifier: Apache-2.0
/// Policies that cut a sequence into groups of consecutive rows: `group_size{G}`, `group_count{K}`.
#pragma once

#include <slicesort/tensor_view.hpp>

SLICESORT_TYPES_BEGIN

/// Groups of `rows` rows; the last may be shorter.
struct group_size {
  index_t rows;
};

/// `groups` groups of `ceil(length / groups)` rows, where `length` is the tensor's; the last may be
/// shorter, and some may be empty.
struct group_count {
  index_t groups;
};

/// Division of a sequence into groups: a `group_size` or a `group_count`.
///
/// - **Errors** `invalid_argument` unless the rows of a group, or the number of groups, are at
///   least 1.
class grouping {
 public:
  SLICESORT_ABI_TAG constexpr grouping(group_size size) : rows_(size.rows) {}
  SLICESORT_ABI_TAG constexpr grouping(group_count count) : groups_(count.groups) {}

  /// Rows of a whole group in a sequence of `length` rows: 1..max(length, 1).
  SLICESORT_ABI_TAG constexpr index_t rows(index_t length) const {
    index_t const group = rows_ > 0     ? rows_
                          : groups_ > 0 ? length / groups_ + (length % groups_ != 0)
                                        : 1;  // rejected by the checks
    return group < 1 || length < 1 ? 1 : group < length ? group : length;
  }
  /// Returns null or the error of the parameters.
  SLICESORT_ABI_TAG constexpr char const* validate() const {
    return rows_ > 0 || groups_ > 0 ? nullptr : "must be at least 1";
  }

 private:
  index_t rows_ = 0, groups_ = 0;  // the unused one is 0
};

SLICESORT_TYPES_END
