// SPDX-License-Identifier: Apache-2.0
// multi_permutation with two terms of weight 1/2. Compiled once per element type.
#include "subjects.hpp"
#include "support/settings.hpp"
#include "support/sort_jobs.hpp"

#include <slicesort/multi_permutation.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace bench {
namespace {

// What rounding a mean of two values below 8 to T may cost: an epsilon is the step from 1 to the
// next.
template <class T>
constexpr double rounding_of_means() {
  if (sizeof(T) == 8) return 8 * 0x1p-52;
  if (sizeof(T) == 4) return 8 * 0x1p-23;
  return std::is_same_v<T, ss::float16> ? 8 * 0x1p-10 : 8 * 0x1p-7;
}

template <class T>
class forward_job final : public sort_job<T> {
 public:
  explicit forward_job(fields const& f)
      : sort_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
    this->tolerance = rounding_of_means<T>();
  }
  void run() override {
    auto const on = this->at.exec();
    auto const in = const_view(this->x->values, this->at.extents);
    auto const out = view(this->y, this->at.extents);
    if (this->saving)
      op_.forward(on, in, ss::uniform_weights, out, {this->perm.view()}, lend(scratch_));
    else
      op_.forward(on, in, ss::uniform_weights, out, ss::no_saved, lend(scratch_));
  }
  double max_error() override {
    auto const& in = this->x->values;
    return worst_column(*this->x, expected_order(*this->x, this->at),
                        [&](auto const& p, std::size_t n, auto const& cell) {
                          double const want =
                              (decoded(in[cell(p[n])]) + decoded(in[cell(p[p[n]])])) / 2;
                          double const error = std::abs(decoded(this->y[cell(n)]) - want);
                          return this->saving && this->perm[cell(n)] != p[n] ? wrong : error;
                        });
  }

 private:
  ss::multi_permutation<> const op_{2};
  buffer<unsigned char> scratch_;
};

template <class T>
class backward_job final : public unsort_job<T> {
 public:
  explicit backward_job(fields const& f)
      : unsort_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
    this->tolerance = rounding_of_means<T>();
  }
  void run() override {
    ss::extents3 const e = this->at.extents;
    op_.backward(this->at.exec(), const_view(this->dy->values, e), ss::uniform_weights,
                 {this->perm.view()}, view(this->dx, e), lend(scratch_));
  }
  double max_error() override {
    auto const& in = this->dy->values;
    auto const& order = expected_order(*this->x, this->at);
    // Row n of the input went to row inverse[n], and from there to row inverse[inverse[n]].
    auto inverses = order;
    for (std::size_t k = 0; k < order.size(); ++k)
      for (std::size_t n = 0; n < order[k].size(); ++n)
        inverses[k][order[k][n]] = static_cast<std::uint32_t>(n);
    return worst_column(
        *this->x, inverses, [&](auto const& inverse, std::size_t n, auto const& cell) {
          double const want =
              (decoded(in[cell(inverse[n])]) + decoded(in[cell(inverse[inverse[n]])])) / 2;
          return std::abs(decoded(this->dx[cell(n)]) - want);
        });
  }

 private:
  ss::multi_permutation<> const op_{2};
  buffer<unsigned char> scratch_;
};

}  // namespace

template <class T>
void add_multi_permutation() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("multi_permutation", direction, [](fields const& at) {
      if (is_plain(at)) add_case<forward_job<T>>(at);
    });
  for_each_setting<T>("multi_permutation", "backward", [](fields const& at) {
    if (is_plain(at)) add_case<backward_job<T>>(at);
  });
}
template void add_multi_permutation<SLICESORT_BENCH_DTYPE>();

}  // namespace bench
