// SPDX-License-Identifier: Apache-2.0
// shuffle in both forms. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

#include <slicesort/shuffle.hpp>

namespace bench {
namespace {

template <class T, class Form>
class shuffle_job final : public shuffle_of_rows<T, Form> {
 public:
  explicit shuffle_job(fields const& f)
      : shuffle_of_rows<T, Form>(f),
        scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
  }

  void run() override {
    if (this->backward)
      op_.backward(this->at.exec(), this->source(), this->target(), lend(scratch_));
    else
      op_.forward(this->at.exec(), this->source(), this->target(), lend(scratch_));
  }

 private:
  ss::shuffle<Form> const op_{shuffle_seed};
  buffer<unsigned char> scratch_;
};

template <class T>
void add_shuffle() {
  for (char const* direction : {"forward", "backward"}) {
    for_each_setting<T>("shuffle", direction, [](fields const& at) {
      if (is_plain(at)) add_case<shuffle_job<T, ss::shared_by_channels>>(at);
    });
    for_each_setting<T>("shuffle_per_channel", direction, [](fields const& at) {
      if (is_plain(at)) add_case<shuffle_job<T, ss::per_channel>>(at);
    });
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("shuffle", add_shuffle<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
