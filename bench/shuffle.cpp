// SPDX-License-Identifier: Apache-2.0
// shuffle in both forms. Compiled once per element type.
#include "subjects.hpp"
#include "support/move_jobs.hpp"
#include "support/random.hpp"
#include "support/settings.hpp"

#include <slicesort/shuffle.hpp>

#include <type_traits>

namespace bench {
namespace {

constexpr std::uint64_t shuffle_seed = 7;

template <class T, class Form>
class shuffle_job final : public move_job<T> {
 public:
  explicit shuffle_job(fields const& f)
      : move_job<T>(f), scratch_(op_.template workspace_bytes<T>(f.exec(), f.extents)) {
    this->workspace_bytes = scratch_.bytes();
  }

  void run() override {
    if (this->backward)
      op_.backward(this->at.exec(), this->source(), this->target(), lend(scratch_));
    else
      op_.forward(this->at.exec(), this->source(), this->target(), lend(scratch_));
  }

  // The stable argsort of the rows' hashes.
  std::vector<std::uint32_t> rows_of(std::size_t column) const override {
    bool const shared = std::is_same_v<Form, ss::shared_by_channels>;
    std::uint64_t const channel =
        shared ? 0 : column % static_cast<std::uint64_t>(this->at.extents.channels);
    std::vector<double> hashes(static_cast<std::size_t>(this->at.extents.length));
    for (std::size_t n = 0; n < hashes.size(); ++n)
      hashes[n] = static_cast<double>(random_bits(random_bits(shuffle_seed, channel), n) >> 32);
    return stable_argsort(hashes, true);
  }

 private:
  ss::shuffle<Form> const op_{shuffle_seed};
  buffer<unsigned char> scratch_;
};

}  // namespace

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
template void add_shuffle<SLICESORT_BENCH_DTYPE>();

}  // namespace bench
