// SPDX-License-Identifier: Apache-2.0
// IMDB's reviews, byte by byte: the Long Range Arena's text task.
#pragma once

#include "learning/tasks/files/text_file.hpp"

namespace learning {

/// The folder `aclImdb` with `train` and `test`, each with `neg` (class 0) and `pos` (class 1) and
/// a file for each review. The first `longest` bytes are read, token = byte + 1. The Long Range
/// Arena has no other split: it validates on the test reviews.
class imdb final : public loaded_task {
 public:
  explicit imdb(std::filesystem::path const& folder, index_t longest = 1000)
      : loaded_task({longest, 0, 257, 2, 0}) {
    load(folder / "train", split::training, longest);
    load(folder / "test", split::test, longest);
  }

 private:
  void load(std::filesystem::path const& folder, split to, index_t longest) {
    for (std::int32_t label : {0, 1}) {
      std::filesystem::path const of_class = folder / (label == 0 ? "neg" : "pos");
      if (!std::filesystem::is_directory(of_class))
        throw task_error(of_class.string() +
                         " is missing: it is one of the folders of the Large Movie Review Dataset, "
                         "aclImdb");
      std::vector<std::filesystem::path> files;
      for (auto const& entry : std::filesystem::directory_iterator(of_class))
        if (entry.path().extension() == ".txt") files.push_back(entry.path());
      if (files.empty()) throw task_error(of_class.string() + " has no reviews (*.txt)");
      std::sort(files.begin(), files.end());  // a folder has no order of its own
      for (auto const& file : files)
        of(to).sample_of(label, longest, [&](std::vector<std::int32_t>& tokens) {
          add_bytes(whole_file(file, "aclImdb"), tokens);
        });
    }
  }
};

}  // namespace learning
