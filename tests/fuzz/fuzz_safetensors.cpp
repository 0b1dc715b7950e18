// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file, and a header around them: refused, or accepted and then the same
// when written and read again. And as a list of tensors and metadata: what can be written can be
// read, and is the same.
#include "learning/files/safetensors.cpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// Takes small values off the front of the bytes; zeros when they are at an end.
class source {
 public:
  explicit source(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  unsigned byte() {
    if (empty()) return 0;
    unsigned const first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::string text() {
    std::string const all(rest_.substr(0, byte() % 8));
    rest_.remove_prefix(std::min(all.size(), rest_.size()));
    return all;
  }

 private:
  std::string_view rest_;
};
learning::stored_tensor tensor_of(source& from) {
  static double const data[27] = {1, 2, 3};  // of 3 extents up to 3
  learning::stored_tensor one;
  one.name = from.text(), one.data = data;
  unsigned const kind = from.byte();
  one.dtype = kind % 16 == 0 ? "F16" : kind % 2 == 0 ? "F64" : "F32";
  one.bytes = one.dtype == "F64" ? 8 : 4;
  for (unsigned rank = from.byte() % 4; rank > 0; --rank) {
    one.shape.push_back(static_cast<learning::index_t>(from.byte() % 4));
    one.bytes *= static_cast<std::size_t>(one.shape.back());
  }
  return one;
}
learning::tensor_file file_of(source from) {
  learning::tensor_file all;
  while (!from.empty()) {
    if (from.byte() % 2 == 0) {
      all.tensors.push_back(tensor_of(from));
    } else {
      std::string const key = from.text();
      all.about[key] = from.text();
    }
  }
  return all;
}

std::string written(learning::tensor_file const& file) {
  std::string all = learning::header_of(file.tensors, file.about);
  for (auto const& one : file.tensors) all.append(static_cast<char const*>(one.data), one.bytes);
  return all;
}
void sort_by_name(learning::tensor_file& file) {
  std::sort(file.tensors.begin(), file.tensors.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
}
// In any order: tensors without elements may come before or after their neighbour.
bool same(learning::tensor_file a, learning::tensor_file b) {
  sort_by_name(a), sort_by_name(b);
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
void check_written(learning::tensor_file const& file) {
  std::string bytes;
  try {
    bytes = written(file);
  } catch (learning::checkpoint_error const&) {
    return;
  }
  if (!same(file, learning::read_tensors(bytes))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  check(text);
  check_written(file_of(source(text)));
  // The text as entries of a header of the right length, before 16 bytes of data.
  std::string header =
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}," + std::string(text) + "}";
  std::string all(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) all[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  check(all + header + std::string(16, '\x7f'));
  return 0;
}
