// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "../machine/fault.hpp"
#include "../watch/access_widths.hpp"
#include "body.hpp"
#include "control_flow.hpp"
#include "entry.hpp"
#include "names.hpp"
#include "registers.hpp"
#include "text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ptx {

namespace {

// Of the versions of PTX, 7.0 is the first that has sm_80.
constexpr std::uint64_t first_version = 7, last_version = 9;

// Of a module: those that end with their line, and those that end with a semicolon or with braces.
constexpr std::string_view line_directives[] = {".version", ".target", ".address_size", ".file"};
constexpr std::string_view declarations[] = {".visible", ".weak",   ".extern", ".entry",
                                             ".func",    ".global", ".const",  ".shared",
                                             ".section", ".pragma"};

template <std::size_t N>
bool is_one_of(std::string_view const (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Whether it is a declaration of `what`, as ".visible .entry f(..)" is of ".entry"; `behind` is
// then the index behind that word.
bool declares(std::string_view declaration, std::string_view what, std::size_t& behind) {
  std::string_view rest = declaration;
  while (rest.substr(0, 1) == ".") {
    if (take_word(rest) != what) continue;
    behind = static_cast<std::size_t>(rest.data() - declaration.data());
    return true;
  }
  return false;
}

// The index behind a declaration: its semicolon, or the braces of its body.
std::size_t end_of_declaration(std::string_view text, std::size_t at) {
  std::size_t end = find_outside(text, "{;=", at);
  if (end < text.size() && text[end] == '=') end = find_outside(text, ";", end);
  if (end == text.size()) throw fault("PTX: a declaration does not end");
  return text[end] == '{' ? end_of_braces(text, end) : end + 1;
}

}  // namespace

module::module(std::string text) :text_(std::move(text)) {
  std::string_view const all = text_;
  bool versioned = false;
  for (std::size_t at = 0; at < all.size();) {
    if (is_space(all[at])) {
      ++at;
      continue;
    }
    if (std::size_t const behind = skip_quoted(all, at); behind != at) {
      at = behind;
      continue;
    }
    std::size_t const line_end = std::min(all.find('\n', at), all.size());
    std::string_view line = all.substr(at, line_end - at);
    std::string_view const word = take_word(line);
    if (is_one_of(line_directives, word)) {
      read_directive(word, line);
      versioned = versioned || word == ".version";
      at = line_end;
    } else if (is_one_of(declarations, word) && versioned) {
      std::size_t const end = end_of_declaration(all, at);
      read_declaration(all.substr(at, end - at));
      at = end;
    } else {
      throw fault(versioned ? "unknown directive `" + std::string(word) + "`"
                            : std::string("this is no PTX"));
    }
  }
  if (!versioned) throw fault("this is no PTX");
}

void module::read_directive(std::string_view directive, std::string_view line) {
  auto const unknown = [&] {
    throw fault("PTX: not known here: `" + std::string(directive) + " " + std::string(line) + "`");
  };
  if (directive == ".version") {
    auto const major = number(line.substr(0, line.find('.')));
    if (!major || *major < first_version || *major > last_version) unknown();
  } else if (directive == ".target") {
    std::size_t const digits = line.find_first_not_of("0123456789", 3);
    auto const n = line.substr(0, 3) == "sm_" ? number(line.substr(3, digits - 3)) : std::nullopt;
    if (!n) unknown();
    target_ = static_cast<int>(*n);
  } else if (directive == ".address_size") {
    if (trimmed(line) != "64") unknown();
  }
}

void module::read_declaration(std::string_view declaration) {
  auto const place = [&](std::size_t behind) {
    return static_cast<std::size_t>(declaration.data() - text_.data()) + behind;
  };
  std::size_t behind = 0;
  if (declares(declaration, ".entry", behind)) {
    if (declaration.back() == ';') return;  // of another module
    std::string_view const name = trimmed(
        declaration.substr(behind, declaration.find_first_of("( \t\r\n.{", behind) - behind));
    names_.emplace_back(name);
    places_.emplace(name, place(behind));
  } else if (declaration.substr(0, 7) == ".extern" && declares(declaration, ".shared", behind)) {
    dynamic_shared_.push_back(place(behind));
  }
}

kernel const& module::get(std::string const& name) {
  auto& known = decoded_[name];
  if (known) return *known;
  auto const place = places_.find(name);
  if (place == places_.end()) throw fault("no kernel " + name);
  std::string_view const all = text_;
  std::vector<std::string_view> shared;
  for (std::size_t const at : dynamic_shared_)
    shared.push_back(trimmed(all.substr(at, all.find(';', at) - at)));

  auto k = std::make_unique<kernel>();
  try {
    names in_text;
    decode_body(read_entry(all.substr(place->second), *k, in_text), shared, *k, in_text);
    block_graph const graph = blocks_of(k->code);
    join_branches(k->code, graph);
    k->specials = in_text.specials();
    k->constants = in_text.constants();
    k->synchronizations = in_text.synchronizations();
    k->widths = widths_of(k->code);
    assign_rows(*k, graph, in_text.registers());
  } catch (fault const& f) {
    throw fault("kernel " + name + ": " + f.what());
  }
  return *(known = std::move(k));
}

}  // namespace ptx
