// SPDX-License-Identifier: Apache-2.0
// Resolves the names of registers, variables and labels while a kernel is decoded. PTX ISA 4.6.3
// "Labels", 5.4 "Variables".
#pragma once

#include "kernel.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptx {

// Gives each register and special register a unique index, used as an operand's row until rows are
// assigned (registers.hpp). All views are into the kernel's text.
class names {
 public:
  struct variable {
    state_space space;
    std::uint64_t address;
  };

  names() { enter_scope(); }

  // A scope holds the registers and labels between `{` and `}`.
  void enter_scope();
  void leave_scope();

  // Declares the registers of `.b32 %a, %r<10>`, the text after the directive .reg.
  void declare_registers(std::string_view declaration);
  void declare_variable(std::string_view name, variable v) { variables_[name] = v; }
  // Declares a label before instruction `index`.
  void declare_label(std::string_view name, int index);

  // Finds a register of an enclosing scope, or a special register.
  std::optional<operand> find_register(std::string_view name);
  variable const* find_variable(std::string_view name) const;
  // Adds an unnamed register for an unused result.
  operand discarded_register(std::size_t bytes);
  operand intern_constant(std::uint64_t value, std::size_t bytes);

  // Records that instruction `index` branches to a label, which may be declared later.
  void record_branch(int index, std::string_view label) {
    branches_.push_back({index, label, current_scope_});
  }
  // Sets the targets of all branches. Throws fault if a label is missing.
  void resolve_branches(std::vector<instruction>& code) const;

  int next_synchronization() { return synchronizations_++; }

  int registers() const { return registers_; }
  int synchronizations() const { return synchronizations_; }
  std::vector<std::pair<std::string, int>> const& specials() const { return specials_; }
  std::vector<std::uint64_t> const& constants() const { return constants_; }

 private:
  struct register_range {  // one register, or an indexed range such as %r<10>
    int first, count;
    std::uint8_t bytes;
  };
  struct scope {
    int parent;
    std::unordered_map<std::string_view, register_range> registers, ranges;
    std::unordered_map<std::string_view, int> labels;
  };
  struct pending_branch {
    int index;
    std::string_view label;
    int scope;
  };

  std::vector<scope> scopes_;
  int current_scope_ = -1;
  std::unordered_map<std::string_view, variable> variables_;
  std::vector<pending_branch> branches_;
  std::unordered_map<std::uint64_t, int> constant_rows_;
  std::vector<std::uint64_t> constants_;
  std::vector<std::pair<std::string, int>> specials_;
  int registers_ = 0, synchronizations_ = 0;
};

// Parses an unsigned number such as "16" or "0x10"; nullopt if `s` is anything else.
std::optional<std::uint64_t> parse_number(std::string_view s);

}  // namespace ptx
