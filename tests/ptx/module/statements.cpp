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
         (statement.size() == directive.size() || !is_name_char(statement[directive.size()]));
}

void declare_shared(std::string_view declaration, kernel& k, names& scope_names) {
  variable const parsed = parse_variable(declaration);
  std::size_t const offset = align_up(k.static_shared, parsed.alignment);
  scope_names.declare_variable(parsed.name, {state_space::shared, offset});
  k.static_shared = offset + parsed.bytes;
}

void declare(std::string_view directive, names& scope_names) {
  if (is_directive(directive, ".reg")) return scope_names.declare_registers(directive.substr(4));
  if (is_directive(directive, ".shared")) return;  // see declare_shared
  if (std::none_of(std::begin(ignored_directives), std::end(ignored_directives),
                   [&](std::string_view name) { return is_directive(directive, name); }))
    throw fault("unknown directive `" + std::string(directive) + "`");
}

// Removes a leading guard, `@p` or `@!p`, and decodes it.
void take_guard(std::string_view& text, instruction& instr, names& scope_names) {
  if (text.front() != '@') return;
  std::string_view name = take_word(text).substr(1);
  instr.guard_negated = name.substr(0, 1) == "!";
  if (instr.guard_negated) name.remove_prefix(1);
  auto const guard = scope_names.find_register(name);
  if (!guard || guard->bytes != 1) throw fault("unknown guard `" + std::string(name) + "`");
  instr.guard = guard->row;
}

instruction decode(text_element const& element, int index, names& scope_names) {
  instruction instr;
  instr.line = element.line;
  std::string_view text = element.text;
  take_guard(text, instr, scope_names);
  statement decoder(text, element.line, index, scope_names);
  instr.opcode = find_opcode(decoder.opcode(), decoder.last_type());
  if (instr.opcode == nullptr) decoder.fail("unknown instruction");
  instr.opcode->decode(decoder, instr);
  decoder.require_end();
  return instr;
}

}  // namespace

void decode_statements(kernel_text const& body, std::vector<std::string_view> const& dynamic_shared,
                       kernel& k, names& scope_names) {
  std::vector<text_element> const elements = split_elements(body.text, body.line);
  for (text_element const& element : elements)
    if (element.kind == text_element::statement && is_directive(element.text, ".shared"))
      declare_shared(element.text.substr(7), k, scope_names);
  for (std::string_view const declaration : dynamic_shared) {
    variable const parsed = parse_variable(declaration);
    scope_names.declare_variable(
        parsed.name, {state_space::shared, align_up(k.static_shared, parsed.alignment)});
  }

  int depth = 0;
  for (text_element const& element : elements) {
    auto const index = static_cast<int>(k.code.size());
    if (element.kind == text_element::open_brace) {
      scope_names.enter_scope();
      ++depth;
    } else if (element.kind == text_element::close_brace) {
      if (--depth < 0) throw fault("a brace too many, line " + std::to_string(element.line));
      scope_names.leave_scope();
    } else if (element.kind == text_element::label) {
      scope_names.declare_label(element.text, index);
    } else if (element.text.substr(0, 1) == ".") {
      declare(element.text, scope_names);
    } else if (!element.text.empty()) {
      k.code.push_back(decode(element, index, scope_names));
    }
  }
  scope_names.resolve_branches(k.code);
}

}  // namespace ptx
