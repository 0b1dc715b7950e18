// SPDX-License-Identifier: Apache-2.0
// Test cases of linear attention: contiguous tensors of any shape, with policies chosen at run
// time, lengths, and the gradients to compute.
#pragma once

#include "support/inputs.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/linear_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace support {

using any_feature =
    std::variant<ss::feature::elu_plus_one, ss::feature::relu, ss::feature::cosine_reweighted,
                 ss::feature::random_exp, ss::feature::random_relu, ss::feature::random_fourier>;
using any_divisor = std::variant<ss::divisor::sum_plus, ss::divisor::at_least, ss::divisor::none>;
inline constexpr std::size_t feature_kinds = std::variant_size_v<any_feature>;
inline constexpr std::size_t divisor_kinds = std::variant_size_v<any_divisor>;

// Indices of the alternatives.
namespace feature_index {
inline constexpr std::size_t elu_plus_one = 0, relu = 1, cosine_reweighted = 2, random_exp = 3,
                             random_relu = 4, random_fourier = 5;
}
namespace divisor_index {
inline constexpr std::size_t sum_plus = 0, at_least = 1, none = 2;
}

// True for feature maps with a matrix w.
inline bool uses_w(any_feature const& feature) {
  return feature.index() >= feature_index::random_exp;
}

struct linear_size {
  index_t batch, heads, queries, keys, channels, values;
  index_t w_rows = 6;  // of random features
  index_t group = 1;   // query heads that share a head of k, v and w

  extents4 q() const { return {batch, heads, queries, channels}; }
  extents4 k() const { return {batch, heads / group, keys, channels}; }
  extents4 v() const { return {batch, heads / group, keys, values}; }
  extents4 y() const { return {batch, heads, queries, values}; }
  static std::size_t at(extents4 e, index_t b, index_t h, index_t i, index_t c) {
    return static_cast<std::size_t>(((b * e.heads + h) * e.length + i) * e.channels + c);
  }
};

// Bits of linear_problem::gradients.
inline constexpr unsigned linear_dq = 1, linear_dk = 2, linear_dv = 4, linear_dw = 8,
                          linear_all_gradients = 15;

template <class T>
struct linear_problem {
  linear_size size;
  any_feature feature;
  any_divisor divisor;
  bool causal = false;
  bool shared_w = false;  // true if all heads share one matrix
  ss::products multiply = ss::products::exact;
  std::vector<T> q, k, v, w, dy;
  std::vector<index_t> lengths, query_lengths;  // empty: all rows are valid
  unsigned gradients = linear_all_gradients;    // bit set
  ss::grad_mode mode = ss::grad_mode::overwrite;
  std::vector<T> dq, dk, dv, dw;  // initial values, which mode accumulate adds to
  std::string title;

  extents4 w_shape() const {
    if (!uses_w(feature)) return {};
    return {1, shared_w ? 1 : size.heads / size.group, size.w_rows, size.channels};
  }
  extents3 w_extents() const { return uses_w(feature) ? w_shape().sample() : extents3{}; }
  bool computes_dw() const { return uses_w(feature) && (gradients & linear_dw) != 0; }
  index_t valid_keys(index_t b) const {
    return lengths.empty() ? size.keys : lengths[static_cast<std::size_t>(b)];
  }
  index_t valid_queries(index_t b) const {
    return query_lengths.empty() ? size.queries : query_lengths[static_cast<std::size_t>(b)];
  }
  ss::attention_options options() const {
    return ss::lengths(view_of(lengths), view_of(query_lengths));
  }
  ss::attention_backward_options backward_options() const {
    return {mode, ss::lengths(view_of(lengths), view_of(query_lengths))};
  }

  std::string describe() const {
    constexpr char const* features[] = {"elu_plus_one", "relu",        "cosine_reweighted",
                                        "random_exp",   "random_relu", "random_fourier"};
    constexpr char const* divisors[] = {"sum_plus", "at_least", "none"};
    std::ostringstream out;
    out << type_name<T>() << " " << features[feature.index()] << " " << divisors[divisor.index()]
        << (causal ? " causal" : "") << " [B,H,N,M,D,E,r]=[" << size.batch << "," << size.heads
        << "," << size.queries << "," << size.keys << "," << size.channels << "," << size.values
        << "," << size.w_rows << "] " << title << (shared_w ? " shared w" : "")
        << (mode == ss::grad_mode::accumulate ? " accumulate" : "")
        << (multiply == ss::products::native ? " native products" : "");
    if (gradients != linear_all_gradients) out << " gradients=" << gradients;
    for (auto const& [name, list] :
         {std::pair(" lengths=", &lengths), std::pair(" query_lengths=", &query_lengths)}) {
      if (list->empty()) continue;
      out << name;
      for (index_t n : *list) out << n << ",";
    }
    return out.str();
  }
  // Selects the backends and memory offsets of the problem.
  std::uint64_t backend_seed() const { return hash_of(describe()); }
};

// Policies by index. Their parameters affect the results: eps is not negligible, and the seed
// decides whether a scale is given.
inline any_feature make_feature(std::size_t kind, std::uint64_t seed = 0) {
  bool const alternative = seed % 2 == 1;
  switch (kind) {
    case feature_index::elu_plus_one:
      return ss::feature::elu_plus_one{};
    case feature_index::relu:
      return ss::feature::relu{alternative ? 0 : 1e-3};
    case feature_index::cosine_reweighted:
      return ss::feature::cosine_reweighted{};
    case feature_index::random_exp:
      return ss::feature::random_exp{alternative ? 1e-6 : 0.03125};
    case feature_index::random_relu:
      return alternative ? ss::feature::random_relu{0.125, 0.75} : ss::feature::random_relu{};
    default:
      return alternative ? ss::feature::random_fourier{0.25, 0.1} : ss::feature::random_fourier{};
  }
}
inline any_divisor make_divisor(std::size_t kind, double eps = 0.25) {
  switch (kind) {
    case divisor_index::sum_plus:
      return ss::divisor::sum_plus{eps};
    case divisor_index::at_least:
      return ss::divisor::at_least{2.5};
    default:
      return ss::divisor::none{};
  }
}

template <class T>
std::vector<T> normal_values(extents4 e, random_stream& random, double scale = 1) {
  std::vector<T> values(static_cast<std::size_t>(e.size()));
  for (T& v : values) v = from_double<T>(scale * random.normal());
  return values;
}

// Returns a problem with normally distributed values.
template <class T>
linear_problem<T> normal_linear(linear_size size, any_feature feature, any_divisor divisor,
                                bool causal, std::uint64_t seed) {
  random_stream random(seed);
  linear_problem<T> problem;
  problem.size = size;
  problem.feature = feature;
  problem.divisor = divisor;
  problem.causal = causal;
  problem.shared_w = uses_w(feature) && seed % 2 == 0;
  problem.q = normal_values<T>(size.q(), random);
  problem.k = normal_values<T>(size.k(), random);
  problem.v = normal_values<T>(size.v(), random);
  problem.w = normal_values<T>(problem.w_shape(), random);
  problem.dy = normal_values<T>(size.y(), random);
  problem.dq = normal_values<T>(size.q(), random);
  problem.dk = normal_values<T>(size.k(), random);
  problem.dv = normal_values<T>(size.v(), random);
  problem.dw = normal_values<T>(problem.w_shape(), random);
  problem.title = "seed=" + std::to_string(seed);
  return problem;
}

// Returns a problem whose lengths, gradients and mode depend on the seed. A random_fourier weight
// can be -1, so eps exceeds the number of keys, which keeps divisors away from 0.
template <class T>
linear_problem<T> random_linear(linear_size size, std::size_t feature, std::size_t divisor,
                                bool causal, std::uint64_t seed) {
  random_stream random(seed + 1000);
  double const eps =
      feature == feature_index::random_fourier ? 1.0 + static_cast<double>(size.keys) : 0.25;
  auto problem = normal_linear<T>(size, make_feature(feature, random.below(2)),
                                  make_divisor(divisor, eps), causal, seed);
  auto const random_lengths = [&](index_t limit) {
    std::vector<index_t> list;
    for (index_t b = 0; b < size.batch; ++b) {
      index_t const choice[] = {0, limit, limit < 1 ? limit : 1, limit / 2,
                                limit < 1 ? 0 : limit - 1};
      list.push_back(choice[random.below(5)]);
    }
    return list;
  };
  if (random.below(3) == 0) problem.lengths = random_lengths(size.keys);
  if (random.below(4) == 0) problem.query_lengths = random_lengths(size.queries);
  if (random.below(4) == 0) problem.gradients = static_cast<unsigned>(random.below(16));
  if (random.below(3) == 0) problem.mode = ss::grad_mode::accumulate;
  return problem;
}

}  // namespace support
