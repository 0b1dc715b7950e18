// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files. Errors contain the system's reason.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace learning {

/// An error of a file, with a message for the user.
struct checkpoint_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

// Records the first failure of several calls that set `errno`.
class first_failure {
 public:
  bool is_none() const { return reason_ == 0; }
  void check(bool succeeded) {
    if (!succeeded && is_none()) reason_ = errno != 0 ? errno : EIO;
  }
  void throw_if_failed(std::string const& action) const {
    if (!is_none())
      throw checkpoint_error("cannot " + action + ": " + std::generic_category().message(reason_));
  }

 private:
  int reason_ = 0;
};

}  // namespace detail

/// Returns the bytes of a file. Throws `checkpoint_error`, also for a folder.
inline std::string read_file(std::string const& path) {
  detail::first_failure failure;
  std::string bytes;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  failure.check(file != nullptr);
  if (file != nullptr) {
    std::vector<char> block(std::size_t{1} << 16);
    while (std::size_t const bytes_read = std::fread(block.data(), 1, block.size(), file))
      bytes.append(block.data(), bytes_read);
    failure.check(std::ferror(file) == 0);
    std::fclose(file);
  }
  failure.throw_if_failed("read " + path);
  return bytes;
}

/// Writes the parts to `path.PID.part`, flushes it to the disk, and renames it to `path`. A failed
/// or interrupted write keeps the old file, and several processes may write to the same path.
/// Throws `checkpoint_error`.
inline void replace_file(std::string const& path, std::vector<std::string_view> const& parts) {
  detail::first_failure failure;
  std::string const unfinished = path + "." + std::to_string(getpid()) + ".part";
  std::FILE* const file = std::fopen(unfinished.c_str(), "wb");
  failure.check(file != nullptr);
  if (file != nullptr) {
    for (std::string_view const part : parts)
      if (failure.is_none() && !part.empty())
        failure.check(std::fwrite(part.data(), 1, part.size(), file) == part.size());
    failure.check(std::fflush(file) == 0 && fsync(fileno(file)) == 0);
    failure.check(std::fclose(file) == 0);
    if (failure.is_none()) failure.check(std::rename(unfinished.c_str(), path.c_str()) == 0);
    if (!failure.is_none()) std::remove(unfinished.c_str());
  }
  failure.throw_if_failed("write " + path);
}

}  // namespace learning
