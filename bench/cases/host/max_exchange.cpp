// SPDX-License-Identifier: Apache-2.0
// max_exchange with readout row 0. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/max_exchange.hpp>

namespace bench {
namespace {

template <class T>
class exchange_job final : public exchange_of_maximum<T> {
 public:
  explicit exchange_job(fields const& f)
      : exchange_of_maximum<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    if (f.direction != "forward_values") this->maximum = this->new_maximum();
    if (this->backward)
      op_.forward(f.exec(), const_view(this->x->values, f.extents), this->target(),
                  {this->maximum.view()}, lend(scratch_));
    this->saved_bytes = this->maximum.bytes();
    this->workspace_bytes = scratch_.bytes();
    this->traffic_bytes += this->maximum.bytes();
  }

  void run() override {
    auto const on = this->at.exec();
    if (this->backward)
      op_.backward(on, this->source(), {this->maximum.view()}, this->target(), lend(scratch_));
    else
      op_.forward(on, this->source(), this->target(), this->maximum.saved(), lend(scratch_));
  }

 private:
  ss::max_exchange const op_{0};
  buffer<unsigned char> scratch_;
};

template <class T>
void add_max_exchange() {
  for (char const* direction : {"forward", "forward_values", "backward"})
    for_each_setting<T>("max_exchange", direction, [](fields const& at) {
      if (is_plain(at)) add_case<exchange_job<T>>(at);
    });
}
subject_of<SLICESORT_BENCH_DTYPE> const here("max_exchange",
                                             add_max_exchange<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
