// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file, and a header around them: refused, or accepted and then the same
// when written and read again.
#include "learning/files/safetensors.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

std::string written(learning::tensor_file const& file) {
  std::string all = learning::header_of(file.tensors, file.about);
  for (auto const& one : file.tensors) all.append(static_cast<char const*>(one.data), one.bytes);
  return all;
}
bool same(learning::tensor_file const& a, learning::tensor_file const& b) {
  if (a.about != b.about || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    auto const &x = a.tensors[i], &y = b.tensors[i];
    if (x.name != y.name || x.dtype != y.dtype || x.shape != y.shape || x.bytes != y.bytes ||
        std::memcmp(x.data, y.data, x.bytes) != 0)
      return false;
  }
  return true;
}
void check(std::string_view bytes) {
  learning::tensor_file file;
  try {
    file = learning::read_tensors(bytes);
  } catch (learning::checkpoint_error const&) {
    return;
  }
  std::string const again = written(file);
  if (!same(file, learning::read_tensors(again))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  check(text);
  // The text as entries of a header of the right length, before 16 bytes of data.
  std::string header =
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," + std::string(text) + "}";
  std::string all(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) all[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  check(all + header + std::string(16, '\x7f'));
  return 0;
}
