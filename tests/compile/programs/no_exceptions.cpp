// SPDX-License-Identifier: Apache-2.0
// Built with -fno-exceptions -fno-rtti. An invalid call reaches the failure handler with its
// message before it writes anything, and valid calls work.
#include "../all_operators.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstring>

#if SLICESORT_EXCEPTIONS
#  error "build this file with -fno-exceptions"
#endif

namespace ss = slicesort;

namespace {

std::jmp_buf after_failure;
ss::status last_status;

void record_and_jump(ss::status const& status) {
  last_status = status;
  std::longjmp(after_failure, 1);
}

bool fail(char const* error) {
  std::printf("%s (last message: %s)\n", error, last_status.message);
  return false;
}

bool check_invalid_calls() {
  static all_operators::tensor<float> x({1, 4, 1}), y({1, 3, 1});
  if (setjmp(after_failure) == 0) {
    ss::slicing_sort<>{}.forward(ss::exec::host{}, x.read(), y.view(), ss::no_saved);
    return fail("a bad call returned");
  }
  if (last_status.kind != ss::error_kind::argument) return fail("wrong kind");
  if (std::strcmp(last_status.message,
                  "slicing_sort.forward: y.length is 3, must be 4 (x.length)") != 0)
    return fail("wrong message");
  if (setjmp(after_failure) == 0) {
    ss::view(x.values, {1, 5, 1});
    return fail("a view of a container that is too small was made");
  }
  if (std::strcmp(last_status.message,
                  "view: container.size is 4, must be 5 (extents [1, 5, 1])") != 0)
    return fail("wrong message for a view");
  if (setjmp(after_failure) == 0) {
    (void)ss::shuffle<>::workspace_bytes<float>(ss::exec::host{}, {1, 4, -1});
    return fail("a shape that no call accepts has a size");
  }
  if (std::strcmp(last_status.message,
                  "shuffle.workspace_bytes: x.channels is -1, must not be negative"))
    return fail("wrong message for a size");
  if (ss::shuffle<>::workspace_bytes<float>(ss::exec::dry_run{ss::exec::host{}}, {1, 4, -1}) ||
      !ss::shuffle<>::workspace_bytes<float>(ss::exec::dry_run{ss::exec::host{}}, {1, 4, 1}))
    return fail("a wrong status on a size");
  static all_operators::tensor<float> z({1, 4, 1});
  for (float& value : z.values) value = 5;
  x.values = {4, 3, 2, 1};
  if (ss::slicing_sort<>::workspace_bytes<float>(ss::exec::host{}, x.extents) != 0) {
    if (setjmp(after_failure) == 0) {
      ss::slicing_sort<>{}.forward(ss::exec::host{}, x.read(), z.view(), ss::no_saved);
      return fail("a call without workspace returned");
    }
    if (last_status.kind != ss::error_kind::workspace) return fail("wrong kind for a workspace");
    if (z.values != std::vector<float>{5, 5, 5, 5}) return fail("a refused call wrote its output");
  }
  static ss::multi_permutation<> const large(ss::index_t{1} << 58);
  static ss::scratch scratch;
  if (setjmp(after_failure) == 0) {
    large.forward(ss::exec::host{}, x.read(), ss::uniform_weights, z.view(), ss::no_saved, scratch);
    return fail("a call in memory that cannot grow returned");
  }
  if (last_status.kind != ss::error_kind::workspace)
    return fail("wrong kind for memory that cannot grow");
  if (z.values != std::vector<float>{5, 5, 5, 5}) return fail("a refused call wrote its output");
  return true;
}

bool check_valid_calls() {
  all_operators::tensor<float> x({1, 4, 1}), y({1, 4, 1});
  x.values = {3, 1, 2, 0};
  std::vector<unsigned char> scratch(1 << 16);
  ss::slicing_sort<>{}.forward(ss::exec::host{}, x.read(), y.view(), ss::no_saved, scratch);
  if (y.values != std::vector<float>{0, 1, 2, 3}) return fail("wrong result");
#if defined(INVALID_CALLS_ALONE)
  return true;
#else
  return all_operators::fingerprint() == all_operators::fingerprint({2}) ||
         fail("threads changed the result");
#endif
}

}  // namespace

int main() {
  ss::failure_handler const previous_handler = ss::set_failure_handler(&record_and_jump);
  bool const passed = check_invalid_calls() && check_valid_calls();
  if (ss::set_failure_handler(previous_handler) != &record_and_jump)
    return fail("the handler was lost"), 1;
  return passed ? 0 : 1;
}
