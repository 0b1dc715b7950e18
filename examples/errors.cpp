// SPDX-License-Identifier: Apache-2.0
// Invalid arguments are rejected before anything is written. The message names the argument, its
// value and the requirement. With exec::dry_run a call returns the message instead of throwing it.
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  std::vector<float> x_data(12), y_data(12);
  std::vector<std::uint16_t> perm_data(12);
  auto const x = ss::view(x_data, {1, 4, 3}), y = ss::view(y_data, {1, 4, 3});
  auto const perm = ss::view(perm_data, {1, 4, 3});
  ss::exec::host const exec;
  ss::slicing_sort<> const op;
  ss::scratch memory;

  // [snippet]
  try {
    op.forward(exec, x, y, perm);  // no workspace
  } catch (ss::workspace_error const& e) {
    std::printf("%s\n", e.what());
  }

  ss::tensor3<float> const short_y(y_data.data(), {1, 3, 3});
  if (ss::status const status = op.forward(ss::exec::dry_run{exec}, x, short_y, perm, memory);
      !status)
    std::printf("%s\n", status.message);
  // [/snippet]

  auto const report = [](ss::status const& status) {
    std::printf("%s\n", status ? "accepted" : status.message);
  };
  report(op.forward(ss::exec::dry_run{exec}, x, y, perm, memory));
  report(op.forward(ss::exec::dry_run{exec}, x, x, perm, memory));  // in place

  ss::tensor3<float> const repeated(y_data.data(), {1, 4, 3}, {12, 0, 1});
  report(op.forward(ss::exec::dry_run{exec}, x, repeated, perm, memory));

  std::vector<ss::index_t> const lengths = {5};
  report(op.forward(ss::exec::dry_run{exec}, x, y, perm, memory, ss::lengths(lengths)));

  report(op.forward(ss::exec::dry_run{ss::exec::host{0}}, x, y, perm, memory));

  ss::tensor3<float const> const large(x_data.data(), {1, 65537, 1});
  ss::tensor3<std::uint16_t> const perm16(perm_data.data(), {1, 65537, 1});
  ss::tensor3<float> const other_memory(x_data.data() + 65537,
                                        {1, 65537, 1});  // a dry run never reads data
  report(op.forward(ss::exec::dry_run{exec}, large, other_memory, perm16, memory));
}

// clang-format off
// output:
// slicing_sort.forward: workspace.bytes is 0, must be at least 2367
// slicing_sort.forward: y.length is 3, must be 4 (x.length)
// accepted
// accepted
// slicing_sort.forward: y.stride.length is 0, must be positive
// slicing_sort.forward: lengths[0] is 5, must be in 0..4 (length)
// slicing_sort.forward: exec.threads is 0, must be at least 1
// slicing_sort.forward: perm has 16-bit indices, which hold lengths up to 65536; the length is 65537
