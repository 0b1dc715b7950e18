// SPDX-License-Identifier: Apache-2.0
// How far a run is: a line on a terminal that is rewritten, elsewhere a line now and then; and a
// journal for programs, one JSON object a line.
#pragma once

#include "learning/files/whole_file.hpp"
#include "learning/numbers.hpp"

#include <slicesort/tensor_view.hpp>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace learning {

using slicesort::index_t;

/// One line of a journal.
class journal_line {
 public:
  explicit journal_line(std::string const& event) { add("event", event); }

  journal_line& add(char const* name, std::string const& value) {
    std::string quoted = "\"";
    for (char const letter : value) {
      if (letter == '"' || letter == '\\') quoted += '\\';
      quoted += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
    return put(name, quoted + '"');
  }
  journal_line& add(char const* name, index_t value) { return put(name, std::to_string(value)); }
  journal_line& add(char const* name, double value) {
    return put(name, std::isfinite(value) ? text_of(value, 9) : "null");  // JSON knows no infinity
  }
  std::string text() const { return "{" + fields_ + "}\n"; }

 private:
  journal_line& put(char const* name, std::string const& value) {
    fields_ += (fields_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + value;
    return *this;
  }
  std::string fields_;
};

/// A file that lines are added to, and that is flushed after each. Without a name it does nothing.
/// Throws `checkpoint_error` where a line cannot be written.
class journal {
 public:
  explicit journal(std::string const& path) : path_(path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "ab+");
    done(file_ != nullptr);
    // A line that a killed run did not finish must not take the next one with it.
    bool const torn = std::fseek(file_, -1, SEEK_END) == 0 && std::fgetc(file_) != '\n';
    std::fseek(file_, 0, SEEK_END);
    if (torn) done(std::fputc('\n', file_) != EOF);
  }
  journal(journal const&) = delete;
  ~journal() {
    if (file_ != nullptr) std::fclose(file_);
  }
  void write(journal_line const& line) {
    if (file_ == nullptr) return;
    done(std::fputs(line.text().c_str(), file_) >= 0 && std::fflush(file_) == 0);
  }

 private:
  void done(bool succeeded) const {
    detail::first_failure failure;
    failure.unless(succeeded);
    failure.refuse("write the journal " + path_);
  }

  std::string path_;
  std::FILE* file_ = nullptr;
};

/// The line of progress, on standard error.
class progress {
 public:
  explicit progress(index_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0) {}

  /// `now` is the step, `rate` steps a second, `memory` bytes.
  void show(index_t now, double loss, double accuracy, double rate, std::size_t memory) {
    auto const time = clock::now();
    if (time - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10)))
      return;
    last_ = time;
    constexpr int width = 20;
    double const share = static_cast<double>(now) / static_cast<double>(steps_);
    std::string bar(width, '.');
    for (int i = 0; i < static_cast<int>(share * width); ++i)
      bar[static_cast<std::size_t>(i)] = '#';
    long const left = std::lround(static_cast<double>(steps_ - now) / rate);
    std::fprintf(stderr,
                 "%s  [%s] step %lld of %lld  loss %.4f  accuracy %.1f %%  %.1f steps/s  "
                 "%ld:%02ld left  %.0f MB%s",
                 terminal_ ? "\r\033[K" : "", bar.c_str(), static_cast<long long>(now),
                 static_cast<long long>(steps_), loss, 100 * accuracy, rate, left / 60, left % 60,
                 static_cast<double>(memory) / 1e6, terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = true;
  }
  /// Ends the line, for others to be written.
  void clear() {
    if (terminal_ && shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;

  index_t steps_;
  bool terminal_, shown_ = false;
  clock::time_point last_{};
};

}  // namespace learning
