// SPDX-License-Identifier: Apache-2.0
// Reads and writes safetensors files: 8 bytes with the header's length, a JSON header, and the
// data.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace learning {

using slicesort::index_t;

/// A tensor of a file. Does not own its data.
struct stored_tensor {
  std::string name, dtype;  ///< F32 or F64
  std::vector<index_t> shape;
  void const* data = nullptr;
  std::size_t bytes = 0;
};

using metadata = std::map<std::string, std::string>;

struct tensor_file {
  std::vector<stored_tensor> tensors;  ///< in the order of their data
  metadata meta;
};

/// Parses the bytes of a file, which must outlive the result. Throws `checkpoint_error` for a
/// header that is truncated, over 100 MB, or not JSON of this format; for types other than F32 and
/// F64; for duplicate names; and for tensors that overlap or do not cover the data.
tensor_file read_tensors(std::string_view file);
/// Returns the bytes before the data, which follow in the order of the tensors. Throws for tensors
/// that `read_tensors` rejects.
std::string header_of(std::vector<stored_tensor> const& tensors, metadata const& meta);
/// Writes tensors, sorted by name, with `replace_file`. Throws `checkpoint_error`.
void save_tensors(std::string const& path, std::vector<stored_tensor> tensors,
                  metadata const& meta);

}  // namespace learning
