// SPDX-License-Identifier: Apache-2.0
// A container as the input of slicing_sort, instead of a view.
// expect: slicesort: this argument must be a view [batch, length, channels]
#include <slicesort/slicesort.hpp>

#include <vector>

void sort(std::vector<float>& x, slicesort::tensor3<float> y, slicesort::workspace scratch) {
#ifdef VALID
  slicesort::tensor3<float const> const view(x.data(), y.extents());
#else
  auto const& view = x;
#endif
  slicesort::slicing_sort<>{}.forward(slicesort::exec::host{}, view, y, slicesort::no_saved,
                                      scratch);
}
