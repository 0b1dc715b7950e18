// SPDX-License-Identifier: Apache-2.0
#include "body.hpp"

#include "../instructions/form.hpp"
#include "../instructions/statement.hpp"
#include "../machine/fault.hpp"
#include "text.hpp"
#include "variable.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace ptx {

namespace {

// Directives that change nothing of what a kernel computes.
constexpr std::string_view without_effect[] = {".loc", ".pragma", ".file"};

bool is_directive(std::string_view statement, std::string_view directive) {
  return statement.substr(0, directive.size()) == directive &&
         (statement.size() == directive.size() || !is_name(statement[directive.size()]));
}

void declare_shared(std::string_view declaration, kernel& k, names& known) {
  variable const v = parse_variable(declaration);
  std::size_t const at = aligned(k.static_shared, v.alignment);
  known.declare_variable(v.name, {space::shared, at});
  k.static_shared = at + v.bytes;
}

void declare(std::string_view directive, names& known) {
  if (is_directive(directive, ".reg")) return known.declare_registers(directive.substr(4));
  if (is_directive(directive, ".shared")) return;  // by declare_shared, before all else
  if (std::none_of(std::begin(without_effect), std::end(without_effect),
                   [&](std::string_view name) { return is_directive(directive, name); }))
    throw fault("unknown directive `" + std::string(directive) + "`");
}

// Takes `@p` or `@!p` off.
void take_guard(std::string_view& text, instruction& n, names& known) {
  if (text.front() != '@') return;
  std::string_view name = take_word(text).substr(1);
  n.guard_negated = name.substr(0, 1) == "!";
  if (n.guard_negated) name.remove_prefix(1);
  auto const guard = known.find_register(name);
  if (!guard || guard->bytes != 1) throw fault("unknown guard `" + std::string(name) + "`");
  n.guard = guard->row;
}

instruction decode(piece const& p, int index, names& known) {
  instruction n;
  n.line = p.line;
  std::string_view text = p.text;
  take_guard(text, n, known);
  statement s(text, p.line, index, known);
  n.of = find_form(s.opcode(), s.last_type());
  if (n.of == nullptr) s.fail("unknown instruction");
  n.of->decode(s, n);
  s.end();
  return n;
}

}  // namespace

void decode_body(kernel_body const& body, std::vector<std::string_view> const& dynamic_shared,
                 kernel& k, names& known) {
  std::vector<piece> const pieces = cut_body(body.text, body.line);
  for (piece const& p : pieces)
    if (p.is == piece::statement && is_directive(p.text, ".shared"))
      declare_shared(p.text.substr(7), k, known);
  for (std::string_view const declaration : dynamic_shared) {
    variable const v = parse_variable(declaration);
    known.declare_variable(v.name, {space::shared, aligned(k.static_shared, v.alignment)});
  }

  int depth = 0;
  for (piece const& p : pieces) {
    auto const index = static_cast<int>(k.code.size());
    if (p.is == piece::open) {
      known.open();
      ++depth;
    } else if (p.is == piece::close) {
      if (--depth < 0) throw fault("a brace too many, line " + std::to_string(p.line));
      known.close();
    } else if (p.is == piece::label) {
      known.declare_label(p.text, index);
    } else if (p.text.substr(0, 1) == ".") {
      declare(p.text, known);
    } else if (!p.text.empty()) {
      k.code.push_back(decode(p, index, known));
    }
  }
  known.resolve(k.code);
}

}  // namespace ptx
