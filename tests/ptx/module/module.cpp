// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "../machine/fault.hpp"
#include "../watch/access_widths.hpp"
#include "control_flow.hpp"
#include "entry.hpp"
#include "names.hpp"
#include "registers.hpp"
#include "statements.hpp"
#include "text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ptx {

namespace {

// Supported versions of PTX; 7.0 is the first with sm_80.
constexpr std::uint64_t first_version = 7, last_version = 9;

// Directives of a module. Line directives end with their line, declarations with a semicolon or
// braces.
constexpr std::string_view line_directives[] = {".version", ".target", ".address_size", ".file"};
constexpr std::string_view declarations[] = {".visible", ".weak",   ".extern", ".entry",
                                             ".func",    ".global", ".const",  ".shared",
                                             ".section", ".pragma"};

template <std::size_t N>
bool is_one_of(std::string_view const (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// True if the declaration has this directive: ".visible .entry f(..)" has ".entry". Sets `end` to
// the index after the directive.
bool has_directive(std::string_view declaration, std::string_view directive, std::size_t& end) {
  std::string_view words = declaration;
  while (words.substr(0, 1) == ".") {
    if (take_word(words) != directive) continue;
    end = static_cast<std::size_t>(words.data() - declaration.data());
    return true;
  }
  return false;
}

// Returns the index after a declaration, which ends with a semicolon or with a body in braces.
std::size_t declaration_end(std::string_view text, std::size_t position) {
  std::size_t end = find_unquoted(text, "{;=", position);
  if (end < text.size() && text[end] == '=') end = find_unquoted(text, ";", end);
  if (end == text.size()) throw fault("PTX: a declaration does not end");
  return text[end] == '{' ? end_of_braces(text, end) : end + 1;
}

}  // namespace

module::module(std::string ptx) :text_(std::move(ptx)) {
  std::string_view const text = text_;
  bool has_version = false;
  for (std::size_t position = 0; position < text.size();) {
    if (is_space(text[position])) {
      ++position;
      continue;
    }
    if (std::size_t const end = skip_quoted(text, position); end != position) {
      position = end;
      continue;
    }
    std::size_t const line_end = std::min(text.find('\n', position), text.size());
    std::string_view line = text.substr(position, line_end - position);
    std::string_view const word = take_word(line);
    if (is_one_of(line_directives, word)) {
      read_directive(word, line);
      has_version = has_version || word == ".version";
      position = line_end;
    } else if (is_one_of(declarations, word) && has_version) {
      std::size_t const end = declaration_end(text, position);
      read_declaration(text.substr(position, end - position));
      position = end;
    } else {
      throw fault(has_version ? "unknown directive `" + std::string(word) + "`"
                              : std::string("this is no PTX"));
    }
  }
  if (!has_version) throw fault("this is no PTX");
}

void module::read_directive(std::string_view directive, std::string_view line) {
  auto const fail_unsupported = [&] {
    throw fault("PTX: unsupported: `" + std::string(directive) + " " + std::string(line) + "`");
  };
  if (directive == ".version") {
    auto const major = parse_number(line.substr(0, line.find('.')));
    if (!major || *major < first_version || *major > last_version) fail_unsupported();
  } else if (directive == ".target") {
    std::size_t const digits_end = line.find_first_not_of("0123456789", 3);
    auto const n =
        line.substr(0, 3) == "sm_" ? parse_number(line.substr(3, digits_end - 3)) : std::nullopt;
    if (!n) fail_unsupported();
    target_ = static_cast<int>(*n);
  } else if (directive == ".address_size") {
    if (trim(line) != "64") fail_unsupported();
  }
}

void module::read_declaration(std::string_view declaration) {
  auto const offset = [&](std::size_t end) {
    return static_cast<std::size_t>(declaration.data() - text_.data()) + end;
  };
  std::size_t end = 0;
  if (has_directive(declaration, ".entry", end)) {
    if (declaration.back() == ';') return;  // defined in another module
    std::string_view const name =
        trim(declaration.substr(end, declaration.find_first_of("( \t\r\n.{", end) - end));
    names_.emplace_back(name);
    offsets_.emplace(name, offset(end));
  } else if (declaration.substr(0, 7) == ".extern" && has_directive(declaration, ".shared", end)) {
    dynamic_shared_.push_back(offset(end));
  }
}

kernel const& module::get(std::string const& name) {
  auto& decoded = decoded_[name];
  if (decoded) return *decoded;
  auto const offset = offsets_.find(name);
  if (offset == offsets_.end()) throw fault("no kernel " + name);
  std::string_view const text = text_;
  std::vector<std::string_view> shared;
  for (std::size_t const position : dynamic_shared_)
    shared.push_back(trim(text.substr(position, text.find(';', position) - position)));

  auto k = std::make_unique<kernel>();
  try {
    names kernel_names;
    decode_statements(read_entry(text.substr(offset->second), *k, kernel_names), shared, *k,
                      kernel_names);
    block_graph const graph = build_block_graph(k->code);
    set_joins(k->code, graph);
    k->specials = kernel_names.specials();
    k->constants = kernel_names.constants();
    k->synchronizations = kernel_names.synchronizations();
    k->widths = access_widths_of(k->code);
    assign_rows(*k, graph, kernel_names.registers());
  } catch (fault const& f) {
    throw fault("kernel " + name + ": " + f.what());
  }
  return *(decoded = std::move(k));
}

}  // namespace ptx
