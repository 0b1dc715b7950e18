// SPDX-License-Identifier: Apache-2.0
// Calls every operator in each unit of the program and prints one line per unit, with a hash of the
// results. check_mixed_units.py compares it with the line of a program that has only this unit.
#include "unit.hpp"

#include <csetjmp>
#include <cstdio>
#include <vector>

namespace {

struct unit {
  char const* name;
  fingerprint_call fingerprint;
  sort_call sort;
  bool throws;
};

std::vector<unit>& units() {
  static std::vector<unit> list;
  return list;
}

std::jmp_buf after_failure;

// True if the unit rejects a call for 0 threads: by an exception that this unit can catch, or,
// without exceptions, by the failure handler that this unit has set.
bool rejects_invalid_call(unit const& u) {
  auto const call = [&] { u.sort({0}, {}, {}, ss::no_saved); };
  if (!u.throws) {
    if (setjmp(after_failure) != 0) return true;
    return call(), false;
  }
  try {
    call();
  } catch (ss::invalid_argument const&) {
    return true;
  }
  return false;
}

// True if the unit sorts views that this unit creates.
bool sorts_correctly(unit const& u) {
  float const x[] = {2, -1, 3};
  float y[3] = {};
  std::uint16_t perm[3] = {};
  u.sort({2}, {x, {1, 3, 1}}, {y, {1, 3, 1}}, {ss::tensor3<std::uint16_t>(perm, {1, 3, 1})});
  return y[0] == -1 && y[1] == 2 && y[2] == 3 && perm[0] == 1 && perm[1] == 0 && perm[2] == 2;
}

}  // namespace

void register_unit(char const* name, fingerprint_call fingerprint, sort_call sort, bool throws) {
  units().push_back({name, fingerprint, sort, throws});
}

int main() {
  ss::set_failure_handler([](ss::status const&) { std::longjmp(after_failure, 1); });
  for (unit const& u : units()) {
    unsigned const hash = u.fingerprint({}), hash_with_threads = u.fingerprint({3});
    std::printf("%s %08x%s%s%s\n", u.name, hash,
                hash == hash_with_threads ? "" : ", threads differ",
                rejects_invalid_call(u) ? "" : ", accepts a bad call",
                sorts_correctly(u) ? "" : ", does not sort");
  }
}
