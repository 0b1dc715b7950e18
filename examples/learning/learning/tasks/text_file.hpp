// SPDX-License-Identifier: Apache-2.0
// What the readers of published files share: whole files in memory, and sentences about what is
// missing.
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

/// A file as bytes. `from` names the collection that it belongs to.
inline std::string whole_file(std::filesystem::path const& path, std::string const& from) {
  try {
    return bytes_of_file(path.string());
  } catch (checkpoint_error const& e) {
    throw task_error(std::string(e.what()) + "; it is one of the files of " + from);
  }
}

/// Refuses a line of a file.
[[noreturn]] inline void refuse_line(std::filesystem::path const& path, index_t number,
                                     std::string const& rule) {
  throw task_error(path.string() + ", line " + std::to_string(number) + ": " + rule);
}

/// Calls f(fields, number) for every line of a text, split at tabs. A carriage return at the
/// end of a line is dropped, and so is an empty last line.
template <class F>
void each_line(std::string_view text, F const& f) {
  std::vector<std::string_view> fields;
  for (index_t number = 1; !text.empty(); ++number) {
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
    f(fields, number);
  }
}

/// Samples of tokens, one after the other in memory.
class token_samples {
 public:
  /// Adds a sample; `add(tokens)` appends its tokens, of which those past `longest` are dropped.
  template <class Add>
  void sample_of(std::int32_t label, index_t longest, Add const& add) {
    std::size_t const first = tokens_.size();
    add(tokens_);
    tokens_.resize(std::min(tokens_.size(), first + static_cast<std::size_t>(longest)));
    starts_.push_back(tokens_.size());
    labels_.push_back(label);
  }
  index_t size() const { return static_cast<index_t>(labels_.size()); }
  /// Copies sample `number` to tokens `[length]`, filled up with 0.
  void write(index_t number, index_t length, sample& to) const {
    auto const at = static_cast<std::size_t>(number);
    std::size_t const first = starts_[at], count = starts_[at + 1] - first;
    std::copy_n(tokens_.begin() + static_cast<std::ptrdiff_t>(first), count, to.tokens);
    std::fill(to.tokens + count, to.tokens + length, 0);
    to.length = static_cast<index_t>(count), to.label = labels_[at];
  }

 private:
  std::vector<std::int32_t> tokens_, labels_;
  std::vector<std::size_t> starts_{0};
};

/// A task whose samples of tokens are in memory.
class loaded_task : public task {
 public:
  sample_shape shape() const override { return shape_; }
  index_t size(split from) const override { return of(from).size(); }
  void write(split from, index_t number, sample& to) const override {
    of(from).write(number, shape_.length, to);
  }

 protected:
  explicit loaded_task(sample_shape shape) : shape_(shape) {}
  token_samples& of(split from) { return from == split::test ? test_ : training_; }
  token_samples const& of(split from) const { return from == split::test ? test_ : training_; }

  // After a file of a split was read.
  void refuse_if_empty(split from, std::filesystem::path const& path) const {
    if (of(from).size() == 0) throw task_error(path.string() + " has no samples");
  }
  // Bytes as the Long Range Arena's text tasks read them: token = byte + 1.
  static void add_bytes(std::string_view text, std::vector<std::int32_t>& to) {
    for (char const byte : text) to.push_back(static_cast<unsigned char>(byte) + 1);
  }

 private:
  sample_shape shape_;
  token_samples training_, test_;
};

}  // namespace learning
