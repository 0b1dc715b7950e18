// SPDX-License-Identifier: Apache-2.0
// What sorting the columns of a tensor takes and gives.
#pragma once

#include <slicesort/detail/block/columns.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T, class Order>
struct column_sort {
  Order order;
  tensor3<T const> x;
  tensor3<T> y;     // no data: values are not wanted; may be x
  index_rows perm;  // no data: the permutation is not wanted
  tensor1<index_t const> lengths;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
