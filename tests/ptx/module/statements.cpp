// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"

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

// Directives that do not affect results.
constexpr std::string_view ignored_directives[] = {".loc", ".pragma", ".file"};

bool is_directive(std::string_view statement, std::string_view directive) {
  return statement.substr(0, directive.size()) == directive &&
         (statement.size() == directive.size() || !is_name(statement[directive.size()]));
}

void declare_shared(std::string_view declaration, kernel& k, names& scope_names) {
  variable const variable_declaration = parse_variable(declaration);
  std::size_t const offset = aligned(k.static_shared, variable_declaration.alignment);
  scope_names.declare_variable(variable_declaration.name, {space::shared, offset});
  k.static_shared = offset + variable_declaration.bytes;
}

void declare(std::string_view directive, names& scope_names) {
  if (is_directive(directive, ".reg")) return scope_names.declare_registers(directive.substr(4));
  if (is_directive(directive, ".shared")) return;  // declared before by declare_shared
  if (std::none_of(std::begin(ignored_directives), std::end(ignored_directives),
                   [&](std::string_view name) { return is_directive(directive, name); }))
    throw fault("unknown directive `" + std::string(directive) + "`");
}

// Removes a leading guard, `@p` or `@!p`, and decodes it.
void take_guard(std::string_view& text, instruction& n, names& scope_names) {
  if (text.front() != '@') return;
  std::string_view name = take_word(text).substr(1);
  n.guard_negated = name.substr(0, 1) == "!";
  if (n.guard_negated) name.remove_prefix(1);
  auto const guard = scope_names.find_register(name);
  if (!guard || guard->bytes != 1) throw fault("unknown guard `" + std::string(name) + "`");
  n.guard = guard->row;
}

instruction decode(piece const& p, int index, names& scope_names) {
  instruction n;
  n.line = p.line;
  std::string_view text = p.text;
  take_guard(text, n, scope_names);
  statement decoder(text, p.line, index, scope_names);
  n.form = find_form(decoder.opcode(), decoder.last_type());
  if (n.form == nullptr) decoder.fail("unknown instruction");
  n.form->decode(decoder, n);
  decoder.end();
  return n;
}

}  // namespace

void decode_statements(kernel_text const& body, std::vector<std::string_view> const& dynamic_shared,
                       kernel& k, names& scope_names) {
  std::vector<piece> const pieces = split_pieces(body.text, body.line);
  for (piece const& p : pieces)
    if (p.is == piece::statement && is_directive(p.text, ".shared"))
      declare_shared(p.text.substr(7), k, scope_names);
  for (std::string_view const declaration : dynamic_shared) {
    variable const variable_declaration = parse_variable(declaration);
    scope_names.declare_variable(
        variable_declaration.name,
        {space::shared, aligned(k.static_shared, variable_declaration.alignment)});
  }

  int depth = 0;
  for (piece const& p : pieces) {
    auto const index = static_cast<int>(k.code.size());
    if (p.is == piece::open) {
      scope_names.open();
      ++depth;
    } else if (p.is == piece::close) {
      if (--depth < 0) throw fault("a brace too many, line " + std::to_string(p.line));
      scope_names.close();
    } else if (p.is == piece::label) {
      scope_names.declare_label(p.text, index);
    } else if (p.text.substr(0, 1) == ".") {
      declare(p.text, scope_names);
    } else if (!p.text.empty()) {
      k.code.push_back(decode(p, index, scope_names));
    }
  }
  scope_names.resolve(k.code);
}

}  // namespace ptx
