// SPDX-License-Identifier: Apache-2.0
// The PTX text of a translation unit. A kernel is decoded when it is first asked for.
#pragma once

#include "kernel.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptx {

class module {
 public:
  // Throws fault when the text is no PTX, or of a version that is not known here.
  explicit module(std::string text);

  bool has(std::string const& kernel) const { return places_.count(kernel) != 0; }
  // Throws fault when there is no such kernel, or when it has an instruction, a modifier or a
  // directive that is not known here. Not thread-safe.
  kernel const& get(std::string const& kernel);
  // Mangled, in the text's order.
  std::vector<std::string> const& kernels() const { return names_; }
  // Of `.target sm_90`: 90.
  int target() const { return target_; }

 private:
  void read_directive(std::string_view directive, std::string_view line);
  void read_declaration(std::string_view declaration);

  std::string text_;
  int target_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;  // behind ".entry"
  std::vector<std::size_t> dynamic_shared_;              // behind ".extern .shared"
  std::unordered_map<std::string, std::unique_ptr<ptx::kernel>> decoded_;
};

}  // namespace ptx
