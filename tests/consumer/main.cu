// SPDX-License-Identifier: Apache-2.0
// Sorts an empty tensor. Every installation method must build this program with a CUDA compiler.
// Without a GPU, the call reports an error of kind `cuda`.
#include <slicesort/slicesort.hpp>

#include <cstdio>

int main() {
  namespace ss = slicesort;
  ss::tensor3<float> const empty(nullptr, {0, 4, 1});
  ss::status const status =
      ss::slicing_sort<>().forward(ss::exec::dry_run{ss::exec::cuda{}}, empty, empty, ss::no_saved);
  if (status) ss::slicing_sort<>().forward(ss::exec::cuda{}, empty, empty, ss::no_saved);
  if (!status && status.kind != ss::error_kind::cuda) return 1;
  std::puts(status ? "accepted" : status.message);
}
