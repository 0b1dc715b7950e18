// SPDX-License-Identifier: Apache-2.0
// The Long Range Arena's published ListOps files.
#pragma once

#include "learning/tasks/files/text_file.hpp"
#include "learning/tasks/listops.hpp"

namespace learning {

/// `basic_train.tsv` and `basic_test.tsv`: a header line of two names, then lines of a list and its
/// value, separated by a tab. Parentheses, which group arguments two by two, are dropped; tokens
/// are those of `listops`.
class listops_tsv final : public loaded_task {
 public:
  explicit listops_tsv(std::filesystem::path const& folder, index_t longest = 2000)
      : loaded_task({longest, 0, listops_symbols::count, 10, 0}) {
    load(folder / "basic_train.tsv", split::training, longest);
    load(folder / "basic_test.tsv", split::test, longest);
  }

 private:
  void load(std::filesystem::path const& path, split to, index_t longest) {
    std::string const text = whole_file(path, "ListOps of the Long Range Arena's lra_release");
    each_line(text, [&](auto const& fields, index_t line) {
      auto const fail = [&](std::string const& rule) { refuse_line(path, line, rule); };
      bool const has_value =
          fields.back().size() == 1 && fields.back()[0] >= '0' && fields.back()[0] <= '9';
      if (line == 1) {
        if (fields.size() != 2 || has_value) fail("must be a header: Source, a tab and Target");
        return;
      }
      if (fields.size() != 2) fail("must be a list, a tab and its value");
      if (!has_value) fail("the value must be a digit");
      of(to).sample_of(fields[1][0] - '0', longest, [&](std::vector<std::int32_t>& tokens) {
        std::size_t const before = tokens.size();
        for (std::string_view rest = fields[0]; !rest.empty();) {
          std::size_t const end = std::min(rest.find(' '), rest.size());
          std::string_view const word = rest.substr(0, end);
          rest.remove_prefix(std::min(end + 1, rest.size()));
          if (word.empty() || word == "(" || word == ")") continue;
          auto const& names = listops_symbols::names;
          auto const found = std::find(std::begin(names), std::end(names), word);
          if (found == std::end(names)) fail("unknown symbol " + std::string(word));
          tokens.push_back(static_cast<std::int32_t>(found - std::begin(names)) + 1);
        }
        if (tokens.size() == before) fail("the list must not be empty");
      });
    });
    refuse_if_empty(to, path);
  }
};

}  // namespace learning
