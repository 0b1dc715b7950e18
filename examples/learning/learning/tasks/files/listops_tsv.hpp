// SPDX-License-Identifier: Apache-2.0
// The Long Range Arena's published ListOps files.
#pragma once

#include "learning/tasks/files/text_file.hpp"
#include "learning/tasks/listops.hpp"

namespace learning {

/// `basic_train.tsv` and `basic_test.tsv`: a header line, then lines of a list and its value,
/// separated by a tab. Parentheses, which group arguments two by two, are dropped; tokens are those
/// of `listops`.
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
    each_line(text, 2, [&](auto const& fields, index_t line) {
      auto const fail = [&](std::string const& what) {
        throw task_error(path.string() + ", line " + std::to_string(line) + ": " + what);
      };
      if (fields.size() != 2) fail("must be a list, a tab and its value");
      if (fields[1].size() != 1 || fields[1][0] < '0' || fields[1][0] > '9')
        fail("the value must be a digit");
      of(to).sample_of(fields[1][0] - '0', longest, [&](std::vector<std::int32_t>& tokens) {
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
      });
    });
  }
};

}  // namespace learning
