// SPDX-License-Identifier: Apache-2.0
// What every way of getting slicesort must build with a CUDA compiler. Without a GPU the call is
// refused; with one it has nothing to do.
#include <slicesort/slicesort.hpp>

#include <cstdio>

int main() {
  namespace ss = slicesort;
  ss::tensor3<float> const none(nullptr, {0, 4, 1});
  ss::status const v =
      ss::slicing_sort<>().forward(ss::exec::dry_run{ss::exec::cuda{}}, none, none, ss::no_saved);
  if (v) ss::slicing_sort<>().forward(ss::exec::cuda{}, none, none, ss::no_saved);
  if (!v && v.kind != ss::error_kind::cuda) return 1;
  std::puts(v ? "accepted" : v.message);
}
