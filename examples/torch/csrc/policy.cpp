// SPDX-License-Identifier: Apache-2.0
// check_policy as a torch operator, which validates a policy without a tensor.
#include "../../bindings/policies/check_policy.hpp"

#include "tensor.hpp"

#include <cstdint>
#include <string>

namespace adapter {
namespace {

int64_t check_policy(std::string kind, std::string text, int64_t extent) {
  return bindings::check_policy(kind, text, extent);
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(slicesort, m) {
  m.def("check_policy(str kind, str text, int extent) -> int");
}
STABLE_TORCH_LIBRARY_IMPL(slicesort, CompositeExplicitAutograd, m) {
  m.impl("check_policy", boxed<&check_policy>);
}

}  // namespace adapter
