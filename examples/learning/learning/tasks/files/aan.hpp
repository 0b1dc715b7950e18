// SPDX-License-Identifier: Apache-2.0
// Pairs of papers of the ACL Anthology Network: the Long Range Arena's retrieval task.
#pragma once

#include "learning/tasks/files/text_file.hpp"

namespace learning {

/// `new_aan_pairs.train.tsv` and `new_aan_pairs.test.tsv`: lines of a label, two names and two
/// texts, separated by tabs, without a header. A sample is the first `each` bytes of either text,
/// token = byte + 1, the second text after the first and a token 257 between: one sequence, unlike
/// the Long Range Arena's models, which read the two apart.
class aan final : public loaded_task {
 public:
  static constexpr std::int32_t separator = 257;

  explicit aan(std::filesystem::path const& folder, index_t each = 4000)
      : loaded_task({2 * each + 1, 0, 258, 2, 0}) {
    load(folder / "new_aan_pairs.train.tsv", split::training, each);
    load(folder / "new_aan_pairs.test.tsv", split::test, each);
  }

 private:
  void load(std::filesystem::path const& path, split to, index_t each) {
    std::string const text = whole_file(path, "Retrieval of the Long Range Arena's lra_release");
    each_line(text, [&](auto const& fields, index_t line) {
      if (fields.size() != 5)
        refuse_line(path, line, "must be a label, two names and two texts between tabs");
      std::string_view const label = fields[0];
      if (label != "0" && label != "0.0" && label != "1" && label != "1.0")
        refuse_line(path, line, "the label must be 0 or 1");
      of(to).sample_of(label[0] - '0', 2 * each + 1, [&](std::vector<std::int32_t>& tokens) {
        add_bytes(fields[3].substr(0, static_cast<std::size_t>(each)), tokens);
        tokens.push_back(separator);
        add_bytes(fields[4].substr(0, static_cast<std::size_t>(each)), tokens);
      });
    });
    refuse_if_empty(to, path);
  }
};

}  // namespace learning
