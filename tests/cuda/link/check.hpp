// SPDX-License-Identifier: Apache-2.0
// Calls a sort_column and checks the result: correct on a device that it was built for; otherwise
// an error with CUDA's message.
#pragma once

#include <cstdio>
#include <cstring>

namespace support {

enum class outcome { correct, rejected, incorrect };

template <class Sort>
outcome check_sort(char const* name, Sort sort) {
  float const x[] = {3, 1, 2, 0, 2};
  float const expected[] = {3, 2, 2, 1, 0};
  int const expected_rows[] = {0, 2, 4, 1, 3};
  float y[5] = {};
  int rows[5] = {};
  char message[256] = "";
  int const code = sort(x, y, rows, 5, message);
  if (code != 0) {
    std::printf("%s: error %d, %s\n", name, code, message);
    return std::strstr(message, "cuda") != nullptr ? outcome::rejected : outcome::incorrect;
  }
  bool const is_correct =
      std::memcmp(y, expected, sizeof y) == 0 && std::memcmp(rows, expected_rows, sizeof rows) == 0;
  std::printf("%s: %s\n", name, is_correct ? "right" : "WRONG");
  return is_correct ? outcome::correct : outcome::incorrect;
}

}  // namespace support
