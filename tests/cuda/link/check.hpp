// SPDX-License-Identifier: Apache-2.0
// Calls a sort_column and judges it: right where there is a device that it was built for, else a
// clean refusal that names CUDA's reason.
#pragma once

#include <cstdio>
#include <cstring>

namespace support {

enum class judgement { right, refused, wrong };

template <class Sort>
judgement judge(char const* name, Sort sort) {
  float const x[] = {3, 1, 2, 0, 2};
  float const want[] = {3, 2, 2, 1, 0};
  int const from[] = {0, 2, 4, 1, 3};
  float y[5] = {};
  int rows[5] = {};
  char message[256] = "";
  int const code = sort(x, y, rows, 5, message);
  if (code != 0) {
    std::printf("%s: error %d, %s\n", name, code, message);
    return std::strstr(message, "cuda") != nullptr ? judgement::refused : judgement::wrong;
  }
  bool const right =
      std::memcmp(y, want, sizeof y) == 0 && std::memcmp(rows, from, sizeof rows) == 0;
  std::printf("%s: %s\n", name, right ? "right" : "WRONG");
  return right ? judgement::right : judgement::wrong;
}

}  // namespace support
