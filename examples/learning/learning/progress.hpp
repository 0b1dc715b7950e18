// SPDX-License-Identifier: Apache-2.0
// How far a run is: a line on a terminal that is rewritten, elsewhere a line now and then; and a
// journal for programs, one JSON object a line.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
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
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return put(name, std::isfinite(value) ? text : "null");  // JSON knows no infinity
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
class journal {
 public:
  explicit journal(std::string const& path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "a");
    if (file_ == nullptr) throw std::runtime_error("cannot write the journal " + path);
  }
  journal(journal const&) = delete;
  ~journal() {
    if (file_ != nullptr) std::fclose(file_);
  }
  void write(journal_line const& line) {
    if (file_ == nullptr) return;
    std::fputs(line.text().c_str(), file_);
    std::fflush(file_);
  }

 private:
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
