// SPDX-License-Identifier: Apache-2.0
// max_exchange with readout row 0. Compiled once per element type.
#include "subjects.hpp"
#include "support/move_jobs.hpp"
#include "support/settings.hpp"

#include <slicesort/max_exchange.hpp>

#include <numeric>
#include <utility>

namespace bench {
namespace {

template <class T>
class exchange_job final : public move_job<T> {
 public:
  explicit exchange_job(fields const& f)
      : move_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    if (f.direction != "forward_values") {
      ss::extents3 const one_row{f.extents.batch, 1, f.extents.channels};
      maximum_ = index_buffer(one_row, f.extents.length);
    }
    if (this->backward)
      op_.forward(f.exec(), const_view(this->x->values, f.extents), this->target(),
                  {maximum_.view()}, lend(scratch_));
    this->saved_bytes = maximum_.bytes();
    this->workspace_bytes = scratch_.bytes();
    this->traffic_bytes += maximum_.bytes();
  }

  void run() override {
    auto const on = this->at.exec();
    if (this->backward)
      op_.backward(on, this->source(), {maximum_.view()}, this->target(), lend(scratch_));
    else if (maximum_.bytes() != 0)
      op_.forward(on, this->source(), this->target(), {maximum_.view()}, lend(scratch_));
    else
      op_.forward(on, this->source(), this->target(), ss::no_saved, lend(scratch_));
  }

  double max_error() override {
    double error = move_job<T>::max_error();
    // A column's maximum sits at the column's own number: [batch, 1, channels].
    if (maximum_.bytes() != 0)
      for (std::size_t const c : this->x->verified)
        if (maximum_[c] != first_maximum(c)) error = wrong;
    return error;
  }

  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    std::vector<std::uint32_t> rows(static_cast<std::size_t>(this->at.extents.length));
    std::iota(rows.begin(), rows.end(), 0u);
    std::swap(rows[0], rows[first_maximum(column)]);
    return rows;
  }

 private:
  std::uint32_t first_maximum(std::size_t column) const {
    auto const channels = static_cast<std::size_t>(this->at.extents.channels);
    T const* const values = this->x->values.data() + this->x->start(column);
    std::size_t best = 0;
    for (std::size_t n = 1; n < static_cast<std::size_t>(this->at.extents.length); ++n)
      if (comes_before(decoded(values[best * channels]), decoded(values[n * channels]))) best = n;
    return static_cast<std::uint32_t>(best);
  }

  ss::max_exchange const op_{0};
  buffer<unsigned char> scratch_;
  index_buffer maximum_;
};

}  // namespace

template <class T>
void add_max_exchange() {
  for (char const* direction : {"forward", "forward_values", "backward"})
    for_each_setting<T>("max_exchange", direction, [](fields const& at) {
      if (is_plain(at)) add_case<exchange_job<T>>(at);
    });
}
template void add_max_exchange<SLICESORT_BENCH_DTYPE>();

}  // namespace bench
