// SPDX-License-Identifier: Apache-2.0
// Masks selected at run time, so that attention is compiled only twice: the library's masks, a
// combination of two, and one of scattered pairs.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace support {

enum class mask_kind { full, causal, window, block_local, strided, causal_strided, scattered };
inline constexpr int mask_kinds = 7;

struct pattern_mask {
  mask_kind kind = mask_kind::full;
  // Fields of the mask, in order; causal_strided: offset and stride.
  slicesort::index_t a = 0, b = 0;

  SLICESORT_HD slicesort::key_range range(slicesort::index_t query, slicesort::index_t keys) const {
    namespace mask = slicesort::mask;
    switch (kind) {
      case mask_kind::causal:
        return mask::causal{a}.range(query, keys);
      case mask_kind::window:
        return mask::window{a, b}.range(query, keys);
      case mask_kind::block_local:
        return mask::block_local{a}.range(query, keys);
      case mask_kind::causal_strided:
        return mask::both{mask::causal{a}, mask::strided{b}}.range(query, keys);
      // Unsorted, exceeds [0, keys), and is empty for some queries.
      case mask_kind::scattered:
        return {query * 7 % 23 - 5, query % 6 == 4 ? 0 : query * 5 % 41 + 3};
      default:
        return {0, keys};
    }
  }
  SLICESORT_HD bool allows(slicesort::index_t query, slicesort::index_t key) const {
    namespace mask = slicesort::mask;
    if (kind == mask_kind::strided) return mask::strided{a, b}.allows(query, key);
    if (kind == mask_kind::causal_strided)
      return mask::both{mask::causal{a}, mask::strided{b}}.allows(query, key);
    if (kind != mask_kind::scattered) return true;
    auto const hash = static_cast<std::uint64_t>(query * 131 + key) * 0x9e3779b97f4a7c15u;
    return (hash >> 40) % 3 != 0;
  }
  char const* validate(slicesort::index_t) const { return nullptr; }
};

// Masks with ranges only, selected at run time: kernels do not test single keys.
struct range_mask {
  mask_kind kind = mask_kind::full;
  slicesort::index_t a = 0, b = 0;

  SLICESORT_HD slicesort::key_range range(slicesort::index_t query, slicesort::index_t keys) const {
    return pattern_mask{kind, a, b}.range(query, keys);
  }
};
constexpr bool is_range(pattern_mask const& mask) {
  return mask.kind != mask_kind::strided && mask.kind != mask_kind::causal_strided &&
         mask.kind != mask_kind::scattered;
}

}  // namespace support
