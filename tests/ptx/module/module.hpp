// SPDX-License-Identifier: Apache-2.0
// The PTX text of a translation unit. A kernel is decoded at its first use.
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
  // Throws fault if the text is not PTX of a supported version.
  explicit module(std::string text);

  bool contains(std::string const& kernel) const { return offsets_.count(kernel) != 0; }
  // Throws fault if the kernel does not exist or contains unsupported PTX. Not thread-safe.
  kernel const& get(std::string const& kernel);
  // Mangled names, in text order.
  std::vector<std::string> const& kernels() const { return names_; }
  // Compute capability of the target: 90 for `.target sm_90`.
  int target() const { return target_; }

 private:
  void read_directive(std::string_view directive, std::string_view line);
  void read_declaration(std::string_view declaration);

  std::string text_;
  int target_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> offsets_;  // offset in text_ of each kernel's name
  std::vector<std::size_t> dynamic_shared_;  // offsets in text_, after ".extern .shared"
  std::unordered_map<std::string, std::unique_ptr<ptx::kernel>> decoded_;
};

}  // namespace ptx
