// SPDX-License-Identifier: Apache-2.0
// What the names in a kernel's text stand for, while it is decoded. PTX ISA 4.6.3 "Labels", 5.4
// "Variables".
#pragma once

#include "kernel.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptx {

// Every register and every special register gets a number of its own, which is an operand's row
// until rows are assigned (see registers.hpp). All views are into the kernel's text.
class names {
 public:
  struct variable {
    space where;
    std::uint64_t address;
  };

  names() { open(); }

  // `{` and `}`: registers and labels are known in their scope alone.
  void open();
  void close();

  // `.b32 %a, %r<10>`: what follows the directive .reg.
  void declare_registers(std::string_view declaration);
  void declare_variable(std::string_view name, variable v) { variables_[name] = v; }
  // The next instruction will be the one of this index.
  void declare_label(std::string_view name, int index);

  // A register in a scope around, or a special register.
  std::optional<operand> find_register(std::string_view name);
  variable const* find_variable(std::string_view name) const;
  // Whatever its name, a register that nobody reads.
  operand unread(std::size_t bytes);
  operand constant(std::uint64_t value, std::size_t bytes);

  // The instruction of this index goes to a label, whose scope may declare it later.
  void branch(int index, std::string_view label) { branches_.push_back({index, label, scope_}); }
  // The targets of all branches. Throws fault when there is no such label.
  void resolve(std::vector<instruction>& code) const;

  int next_synchronization() { return synchronizations_++; }

  int registers() const { return registers_; }
  int synchronizations() const { return synchronizations_; }
  std::vector<std::pair<std::string, int>> const& specials() const { return specials_; }
  std::vector<std::uint64_t> const& constants() const { return constants_; }

 private:
  struct declared {  // one register, or those with a number behind their common name
    int first, count;
    std::uint8_t bytes;
  };
  struct scope {
    int parent;
    std::unordered_map<std::string_view, declared> registers, ranges;
    std::unordered_map<std::string_view, int> labels;
  };
  struct pending_branch {
    int index;
    std::string_view label;
    int scope;
  };

  std::vector<scope> scopes_;
  int scope_ = -1;
  std::unordered_map<std::string_view, variable> variables_;
  std::vector<pending_branch> branches_;
  std::unordered_map<std::uint64_t, int> rows_;  // of constants
  std::vector<std::uint64_t> constants_;
  std::vector<std::pair<std::string, int>> specials_;
  int registers_ = 0, synchronizations_ = 0;
};

// "16", "0x10": all of `s` is a number without a sign.
std::optional<std::uint64_t> number(std::string_view s);

}  // namespace ptx
