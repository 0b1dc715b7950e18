// SPDX-License-Identifier: Apache-2.0
// Four tasks of the Long Range Arena, from their published files.
#pragma once

#include "learning/tasks/listops.hpp"
#include "learning/tasks/text_file.hpp"

namespace learning {

/// `basic_train.tsv` and `basic_test.tsv`: a header line of two names, then lines of a list and its
/// value, separated by a tab. Ignores the parentheses that group arguments in pairs; tokens are
/// those of `listops`.
class listops_tsv final : public loaded_task {
 public:
  explicit listops_tsv(std::filesystem::path const& folder, index_t longest = 2000)
      : loaded_task({longest, 0, listops_symbols::count, 10, 0}) {
    load(folder / "basic_train.tsv", split::training, longest);
    load(folder / "basic_test.tsv", split::test, longest);
  }

 private:
  void load(std::filesystem::path const& path, split subset, index_t longest) {
    std::string const text = load_file(path, "ListOps of the Long Range Arena's lra_release");
    for_each_line(text, [&](auto const& fields, index_t line) {
      auto const fail = [&](std::string const& rule) { throw_line_error(path, line, rule); };
      bool const has_value =
          fields.back().size() == 1 && fields.back()[0] >= '0' && fields.back()[0] <= '9';
      if (line == 1) {
        if (fields.size() != 2 || has_value) fail("must be a header: Source, a tab and Target");
        return;
      }
      if (fields.size() != 2) fail("must be a list, a tab and its value");
      if (!has_value) fail("the value must be a digit");
      samples_of(subset).add_sample(
          fields[1][0] - '0', longest, [&](std::vector<std::int32_t>& tokens) {
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
    require_samples(subset, path);
  }
};

/// The folder `aclImdb` with `train` and `test`, each with `neg` (class 0) and `pos` (class 1) and
/// a file per review. Reads the first `longest` bytes, token = byte + 1. The Long Range Arena has
/// no other split: it validates on the test reviews.
class imdb final : public loaded_task {
 public:
  explicit imdb(std::filesystem::path const& folder, index_t longest = 1000)
      : loaded_task({longest, 0, 257, 2, 0}) {
    load(folder / "train", split::training, longest);
    load(folder / "test", split::test, longest);
  }

 private:
  void load(std::filesystem::path const& folder, split subset, index_t longest) {
    for (std::int32_t label : {0, 1}) {
      std::filesystem::path const reviews = folder / (label == 0 ? "neg" : "pos");
      if (!std::filesystem::is_directory(reviews))
        throw task_error(reviews.string() +
                         " is missing: it is one of the folders of the Large Movie Review Dataset, "
                         "aclImdb");
      std::vector<std::filesystem::path> files;
      for (auto const& entry : std::filesystem::directory_iterator(reviews))
        if (entry.path().extension() == ".txt") files.push_back(entry.path());
      if (files.empty()) throw task_error(reviews.string() + " has no reviews (*.txt)");
      std::sort(files.begin(), files.end());  // the order of a directory is unspecified
      for (auto const& file : files)
        samples_of(subset).add_sample(label, longest, [&](std::vector<std::int32_t>& tokens) {
          add_bytes(load_file(file, "aclImdb"), tokens);
        });
    }
  }
};

/// `new_aan_pairs.train.tsv` and `new_aan_pairs.test.tsv`: lines of a label, two names and two
/// texts, separated by tabs, without a header. A sample contains the first `each` bytes of both
/// texts, token = byte + 1, separated by a token 257. It is one sequence; the Long Range Arena's
/// models read the two texts separately.
class aan final : public loaded_task {
 public:
  static constexpr std::int32_t separator = 257;

  explicit aan(std::filesystem::path const& folder, index_t text_bytes = 4000)
      : loaded_task({2 * text_bytes + 1, 0, 258, 2, 0}) {
    load(folder / "new_aan_pairs.train.tsv", split::training, text_bytes);
    load(folder / "new_aan_pairs.test.tsv", split::test, text_bytes);
  }

 private:
  void load(std::filesystem::path const& path, split subset, index_t text_bytes) {
    std::string const text = load_file(path, "Retrieval of the Long Range Arena's lra_release");
    for_each_line(text, [&](auto const& fields, index_t line) {
      if (fields.size() != 5)
        throw_line_error(path, line, "must be a label, two names and two texts between tabs");
      std::string_view const label = fields[0];
      if (label != "0" && label != "0.0" && label != "1" && label != "1.0")
        throw_line_error(path, line, "the label must be 0 or 1");
      samples_of(subset).add_sample(
          label[0] - '0', 2 * text_bytes + 1, [&](std::vector<std::int32_t>& tokens) {
            add_bytes(fields[3].substr(0, static_cast<std::size_t>(text_bytes)), tokens);
            tokens.push_back(separator);
            add_bytes(fields[4].substr(0, static_cast<std::size_t>(text_bytes)), tokens);
          });
    });
    require_samples(subset, path);
  }
};

/// The binary version's `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`: records of a
/// label and the red, green and blue values of 32 x 32 pixels. A sample has 1024 gray tokens, 0 to
/// 255, converted as in TensorFlow: weights .2989, .587 and .114 of values up to 1, times 255.5,
/// truncated.
class cifar10 final : public loaded_task {
 public:
  static constexpr std::size_t pixels = 1024, record = 1 + 3 * pixels;

  explicit cifar10(std::filesystem::path const& folder) : loaded_task({pixels, 0, 256, 10, 0}) {
    for (char const digit : {'1', '2', '3', '4', '5'})
      load(folder / (std::string("data_batch_") + digit + ".bin"), split::training);
    load(folder / "test_batch.bin", split::test);
  }

  static std::int32_t gray(unsigned char red, unsigned char green, unsigned char blue) {
    double const sum = (0.2989 * red + 0.587 * green + 0.114 * blue) / 255;
    return static_cast<std::int32_t>(std::min(255.0, sum * 255.5));
  }

 private:
  void load(std::filesystem::path const& path, split subset) {
    std::string const bytes = load_file(path, "CIFAR-10's binary version, cifar-10-batches-bin");
    if (bytes.empty() || bytes.size() % record != 0)
      throw task_error(path.string() + " has " + std::to_string(bytes.size()) +
                       " bytes, must have whole records of 3073");
    for (std::size_t offset = 0; offset < bytes.size(); offset += record) {
      auto const byte = [&](std::size_t i) {
        return static_cast<unsigned char>(bytes[offset + i]);
      };
      if (byte(0) > 9)
        throw task_error(path.string() + ", record " + std::to_string(offset / record) +
                         ": the label must be 0 to 9");
      samples_of(subset).add_sample(byte(0), pixels, [&](std::vector<std::int32_t>& tokens) {
        for (std::size_t i = 1; i <= pixels; ++i)
          tokens.push_back(gray(byte(i), byte(pixels + i), byte(2 * pixels + i)));
      });
    }
  }
};

}  // namespace learning
