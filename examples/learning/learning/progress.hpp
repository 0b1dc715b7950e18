// SPDX-License-Identifier: Apache-2.0
// Progress of a run: a status line on standard error, and a run log of JSON lines for programs.
#pragma once

#include "learning/files/whole_file.hpp"

#include <slicesort/tensor_view.hpp>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace learning {

using slicesort::index_t;

/// One line of a run log: a JSON object. Numbers that are not finite become null.
class log_entry {
 public:
  explicit log_entry(std::string const& event) { add("event", event); }

  template <class Value>
  log_entry& add(char const* name, Value const& value) {
    fields_[name] = value;
    return *this;
  }
  std::string text() const {
    return fields_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  }

 private:
  nlohmann::ordered_json fields_;
};

/// Appends lines to a run log and flushes each line. Does nothing if the path is empty.
/// Throws `checkpoint_error` if a line cannot be written.
class run_log {
 public:
  explicit run_log(std::string const& path) : path_(path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "ab+");
    require(file_ != nullptr);
    // Terminates a line that a killed run left unfinished.
    bool const unfinished = std::fseek(file_, -1, SEEK_END) == 0 && std::fgetc(file_) != '\n';
    std::fseek(file_, 0, SEEK_END);
    if (unfinished) require(std::fputc('\n', file_) != EOF);
  }
  run_log(run_log const&) = delete;
  ~run_log() {
    if (file_ != nullptr) std::fclose(file_);
  }
  void write(log_entry const& line) {
    if (file_ == nullptr) return;
    require(std::fputs(line.text().c_str(), file_) >= 0 && std::fflush(file_) == 0);
  }

 private:
  void require(bool succeeded) const {
    detail::first_failure failure;
    failure.check(succeeded);
    failure.throw_if_failed("write the run log " + path_);
  }

  std::string path_;
  std::FILE* file_ = nullptr;
};

/// Progress line on standard error.
class progress {
 public:
  explicit progress(index_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0) {}

  /// Shows the state; `rate` is in steps per second, `memory` in bytes. On a terminal the
  /// line is rewritten; any other output gets a new line every 10 seconds.
  void show(index_t step, double loss, double accuracy, double rate, std::size_t memory) {
    auto const time = clock::now();
    if (time - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10)))
      return;
    last_ = time;
    constexpr int width = 20;
    double const fraction = static_cast<double>(step) / static_cast<double>(steps_);
    std::string bar(width, '.');
    for (int i = 0; i < static_cast<int>(fraction * width); ++i)
      bar[static_cast<std::size_t>(i)] = '#';
    long const seconds_left = std::lround(static_cast<double>(steps_ - step) / rate);
    std::fprintf(stderr,
                 "%s  [%s] step %lld of %lld  loss %.4f  accuracy %.1f %%  %.1f steps/s  "
                 "%ld:%02ld left  %.0f MB%s",
                 terminal_ ? "\r\033[K" : "", bar.c_str(), static_cast<long long>(step),
                 static_cast<long long>(steps_), loss, 100 * accuracy, rate, seconds_left / 60,
                 seconds_left % 60, static_cast<double>(memory) / 1e6, terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = true;
  }
  /// Clears the line before other output.
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
