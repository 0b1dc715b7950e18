// SPDX-License-Identifier: Apache-2.0
// Masks that read tensors: visible pairs and tiles compared with the tables, and invalid arguments.
#include "pattern.hpp"
#include "support/inputs.hpp"

#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using namespace support;
namespace ss = slicesort;
namespace mask = slicesort::mask;

namespace {

using ss::extents4, ss::strides4;
using ss::detail::has_allows, ss::detail::has_for_head, ss::detail::is_sparse;

static_assert(is_sparse<mask::tensor> && has_for_head<mask::tensor>);
static_assert(is_sparse<mask::both<mask::causal, mask::tensor>>);
static_assert(has_for_head<mask::either<mask::tensor, mask::bigbird>>);
static_assert(!has_allows<mask::segments<>> && !has_for_head<mask::segments<>>, "ranges");
static_assert(!has_allows<mask::both<mask::causal, mask::segments<std::int32_t>>>, "ranges");
static_assert(std::is_same_v<decltype(mask::segments{ss::tensor1<std::int32_t const>()}),
                             mask::segments<std::int32_t>>);

// A table [1, 1, queries, keys] with rectangles of equal elements, and random ones.
class table {
 public:
  table(index_t queries, index_t keys, strides4 strides, std::uint64_t seed)
      : queries_(queries), keys_(keys), strides_(strides), data_(new bool[buffer_size]) {
    random_stream random(seed);
    for (std::size_t i = 0; i < buffer_size; ++i) data_[i] = random.below(2) == 0;
    bool const rectangle = random.below(2) == 0;
    for (index_t i = queries / 3; i < queries; ++i)
      for (index_t j = keys / 4; j < keys; ++j) at(i, j) = rectangle;
  }
  mask::tensor view() const { return {{data_.get() + 3, {1, 1, queries_, keys_}, strides_}}; }
  bool operator()(index_t i, index_t j) const {
    return data_[3 + static_cast<std::size_t>((queries_ == 1 ? 0 : i) * strides_.length +
                                              j * strides_.channels)];
  }

 private:
  static constexpr std::size_t buffer_size = 4096;

  bool& at(index_t i, index_t j) {
    return data_[3 + static_cast<std::size_t>(i * strides_.length + j * strides_.channels)];
  }

  index_t queries_, keys_;
  strides4 strides_;
  std::unique_ptr<bool[]> data_;
};

std::string error_of(mask::tensor const& m, ss::mask_call call) {
  char const* const message = ss::detail::mask_error(m, call);
  return message == nullptr ? "" : message;
}

}  // namespace

TEST_CASE("a table of booleans") {
  std::uint64_t seed = 0;
  for (index_t queries : {1, 5, 12})
    for (index_t keys : {1, 9, 30})
      for (strides4 strides : {strides4{0, 0, keys, 1}, strides4{0, 0, 40, 1},
                               strides4{0, 0, 1, queries + 1}, strides4{0, 0, 64, 2}}) {
        table const t(queries, keys, strides, ++seed);
        mask_pattern const expected(queries == 1 ? 12 : queries, keys, t);
        CHECK(describe_mismatch(t.view(), expected, exact) == "");
        mask_pattern const causal(queries, keys,
                                  [&](index_t i, index_t j) { return j <= i && t(i, j); });
        CHECK(describe_mismatch(mask::both{mask::causal{}, t.view()}, causal, {false, true}) == "");
        // The bits of 64 queries; rows past the table have none.
        for (index_t first : {0, 3})
          for (index_t j = 0; j < keys; ++j)
            for (index_t i = 0; i < 64 && first < queries; ++i)
              CHECK((t.view().query_bits(first, j) >> i & 1) ==
                    (queries == 1 || first + i < queries ? t(first + i, j) : 0));
      }
}

TEST_CASE("samples and heads of a table") {
  bool const data[] = {true, false, false, true, true, true, false, false};
  mask::tensor const by_sample{{data, {4, 1, 1, 2}}}, by_head{{data, {1, 4, 1, 2}}},
      by_both{{data, {2, 2, 1, 2}}};
  for (index_t sample = 0; sample < 2; ++sample)
    for (index_t head = 0; head < 2; ++head)
      for (index_t key = 0; key < 2; ++key) {
        CHECK(by_sample.for_head(sample, head).allows(0, key) == data[2 * sample + key]);
        CHECK(by_head.for_head(sample, head).allows(0, key) == data[2 * head + key]);
        CHECK(by_both.for_head(sample, head).allows(0, key) == data[4 * sample + 2 * head + key]);
        mask::either const either{mask::window{0, 0}, by_both};
        CHECK(either.for_head(sample, head).allows(0, key) ==
              (key == 0 || data[4 * sample + 2 * head + key]));
      }
}

// Long rows are not scanned: their tiles count as mixed.
TEST_CASE("long ranges of keys") {
  std::unique_ptr<bool[]> const zeros(new bool[1000]());
  mask::tensor const m{{zeros.get(), {1, 1, 1, 1000}}};
  CHECK(!m.meets(0, 1, 100, 228));
  CHECK(m.meets(0, 1, 100, 229));
  zeros[227] = true;
  CHECK(m.meets(0, 1, 100, 228));
  for (index_t j = 0; j < 1000; ++j) zeros[static_cast<std::size_t>(j)] = true;
  CHECK(m.covers(0, 1, 100, 228));
  CHECK(!m.covers(0, 1, 100, 229));
}

TEST_CASE("invalid tables") {
  bool const data[120] = {};
  ss::mask_call const call(5, 3, false, 2, 4);
  CHECK(error_of({{data, {2, 4, 3, 5}}}, call) == "");
  CHECK(error_of({{data, {1, 1, 1, 5}}}, call) == "");
  CHECK(error_of({{data, {1, 1, 1, 4}}}, call) == "tensor: the table must have as many keys as k");
  CHECK(error_of({{data, {1, 1, 2, 5}}}, call) ==
        "tensor: the table must have as many queries as q, or 1");
  for (extents4 e : {extents4{3, 1, 1, 5}, extents4{1, 2, 1, 5}, extents4{0, 1, 1, 5}})
    CHECK(error_of({{data, e}}, call) ==
          "tensor: the table must have as many samples and heads as q, or 1");
  CHECK(error_of({{data + 4, {1, 1, 1, 5}, {5, 5, 5, -1}}}, call) ==
        "tensor: strides of the table must not be negative");
  CHECK(error_of({{nullptr, {1, 1, 1, 5}}}, call) == "tensor: the table is null");
  CHECK(error_of({{nullptr, {1, 1, 1, 0}}}, {0, 3, false, 2, 4}) == "");
  CHECK(error_of({}, {0, 3, false, 0, 0}) ==
        "tensor: the table must have as many queries as q, or 1");
}

TEST_CASE_TEMPLATE("segments", Offset, std::int32_t, std::int64_t) {
  std::vector<std::vector<Offset>> const lists{{0}, {0, 13}, {0, 3, 3, 8, 13}, {0, 1, 2, 9}};
  for (std::vector<Offset> const& offsets : lists) {
    auto const segment_of = [&](index_t row) {
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        if (offsets[s] <= row && row < offsets[s + 1]) return static_cast<int>(s);
      return -1;
    };
    auto const definition = [&](index_t i, index_t j) {
      return segment_of(i) >= 0 && segment_of(i) == segment_of(j);
    };
    mask::segments<Offset> const m{{offsets.data(), offsets.size()}};
    CHECK(describe_mismatch(m, definition) == "");
    CHECK(describe_mismatch(mask::both{mask::causal{}, m}, [&](index_t i, index_t j) {
            return j <= i && definition(i, j);
          }) == "");
  }
  // Other numbers of keys than of queries.
  std::vector<Offset> const queries{0, 2, 5, 6}, keys{0, 4, 4, 9};
  mask::segments<Offset> const cross{{queries.data(), 4}, {keys.data(), 4}};
  CHECK(keys_of(cross, 1, 12) == std::vector<index_t>{0, 1, 2, 3});
  CHECK(keys_of(cross, 2, 12).empty());
  CHECK(keys_of(cross, 5, 12) == std::vector<index_t>{4, 5, 6, 7, 8});
  CHECK(keys_of(cross, 6, 12).empty());

  auto const error = [](mask::segments<Offset> const& m) {
    char const* const message = ss::detail::mask_error(m, 9);
    return std::string(message == nullptr ? "" : message);
  };
  CHECK(error(cross) == "");
  CHECK(error({}) == "segments: offsets must have an element");
  CHECK(error({{queries.data(), 0}}) == "segments: offsets must have an element");
  CHECK(error({{queries.data(), 4}, {keys.data(), 3}}) ==
        "segments: key_offsets must be as many as offsets");
}
