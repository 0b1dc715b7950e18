// SPDX-License-Identifier: Apache-2.0
// Tasks from files: reading, splitting into lines, and error messages.
#pragma once

#include "learning/files/whole_file.hpp"
#include "learning/task.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace learning {

/// Reads a file. The error message names its `collection`.
inline std::string load_file(std::filesystem::path const& path, std::string const& collection) {
  try {
    return read_file(path.string());
  } catch (checkpoint_error const& e) {
    throw task_error(std::string(e.what()) + "; it is one of the files of " + collection);
  }
}

/// Throws a `task_error` that names the file and the line.
[[noreturn]] inline void throw_line_error(std::filesystem::path const& path, index_t line_number,
                                          std::string const& requirement) {
  throw task_error(path.string() + ", line " + std::to_string(line_number) + ": " + requirement);
}

/// Calls f(fields, line_number) for every line of a text, split at tabs. Ignores a carriage return
/// at the end of a line, and an empty last line.
template <class F>
void for_each_line(std::string_view text, F const& f) {
  std::vector<std::string_view> fields;
  for (index_t line_number = 1; !text.empty(); ++line_number) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() && text.empty()) return;
    fields.clear();
    for (std::size_t tab; (tab = line.find('\t')) != std::string_view::npos;) {
      fields.push_back(line.substr(0, tab));
      line.remove_prefix(tab + 1);
    }
    fields.push_back(line);
    f(fields, line_number);
  }
}

/// Token sequences with labels, stored consecutively.
class token_samples {
 public:
  /// Adds a sample. `add(tokens)` appends its tokens, which are truncated to `longest`.
  template <class Add>
  void add_sample(std::int32_t label, index_t longest, Add const& add) {
    std::size_t const first = tokens_.size();
    add(tokens_);
    tokens_.resize(std::min(tokens_.size(), first + static_cast<std::size_t>(longest)));
    starts_.push_back(tokens_.size());
    labels_.push_back(label);
  }
  index_t size() const { return static_cast<index_t>(labels_.size()); }
  /// Copies sample `index` to tokens `[length]`, padded with 0.
  void write(index_t index, index_t length, sample& result) const {
    auto const n = static_cast<std::size_t>(index);
    std::size_t const first = starts_[n], count = starts_[n + 1] - first;
    std::copy_n(tokens_.begin() + static_cast<std::ptrdiff_t>(first), count, result.tokens);
    std::fill(result.tokens + count, result.tokens + length, 0);
    result.length = static_cast<index_t>(count), result.label = labels_[n];
  }

 private:
  std::vector<std::int32_t> tokens_, labels_;
  std::vector<std::size_t> starts_{0};
};

/// A task whose samples are in memory.
class loaded_task : public task {
 public:
  sample_shape shape() const override { return shape_; }
  index_t size(split subset) const override { return samples_of(subset).size(); }
  void write(split subset, index_t index, sample& result) const override {
    samples_of(subset).write(index, shape_.length, result);
  }

 protected:
  explicit loaded_task(sample_shape shape) : shape_(shape) {}
  token_samples& samples_of(split subset) { return subset == split::test ? test_ : training_; }
  token_samples const& samples_of(split subset) const {
    return subset == split::test ? test_ : training_;
  }

  // Throws if the file `path` contained no samples.
  void require_samples(split subset, std::filesystem::path const& path) const {
    if (samples_of(subset).size() == 0) throw task_error(path.string() + " has no samples");
  }
  // Appends bytes as tokens, byte + 1, as in the Long Range Arena's text tasks.
  static void add_bytes(std::string_view text, std::vector<std::int32_t>& tokens) {
    for (char const byte : text) tokens.push_back(static_cast<unsigned char>(byte) + 1);
  }

 private:
  sample_shape shape_;
  token_samples training_, test_;
};

}  // namespace learning
