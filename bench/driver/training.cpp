// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"
#include "driver.hpp"
#include "settings.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

// Backward reads what was saved when it was constructed: the same bytes that forward saves.
class pair_job final : public job {
 public:
  pair_job(std::unique_ptr<job> forward, std::unique_ptr<job> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {
    traffic_bytes = forward_->traffic_bytes + backward_->traffic_bytes;
    saved_bytes = forward_->saved_bytes;
    workspace_bytes = std::max(forward_->workspace_bytes, backward_->workspace_bytes);
    flops = forward_->flops + backward_->flops;
    verified = forward_->verified && backward_->verified;
    tolerance = std::numeric_limits<double>::max();  // each half has one of its own
  }
  void run() override {
    forward_->run();
    backward_->run();
  }
  double max_error() override {
    double error = 0.0;
    for (job* const half : {forward_.get(), backward_.get()}) {
      double const e = half->max_error();
      if (!(e <= half->tolerance)) return wrong;
      error = std::max(error, e);
    }
    return error;
  }

 private:
  std::unique_ptr<job> forward_, backward_;
};

}  // namespace

void add_training_cases() {
  auto& all = all_cases();
  std::map<std::string, bench_case const*> forwards;
  for (bench_case const& c : all)
    if (c.at.direction == "forward") forwards.emplace(c.at.name(), &c);
  std::vector<bench_case> found;
  for (bench_case const& c : all) {
    bool const on_task =
        c.at.input == "text" || c.at.input == the_task().input_of(c.at.extents.length);
    bool const takes_part = c.at.direction == "backward" && on_task &&
                            c.at.instructions == ss::isa::best &&
                            c.at.subject.rfind("baseline", 0) != 0;
    if (!takes_part) continue;
    fields at = c.at;
    at.direction = "forward";
    auto const forward = forwards.find(at.name());
    if (forward == forwards.end()) continue;
    at.direction = "training";
    auto const first = std::make_shared<bench_case const>(*forward->second);
    auto const second = std::make_shared<bench_case const>(c);
    auto const make = [first, second](fields const&) -> std::unique_ptr<job> {
      return std::make_unique<pair_job>(first->make(first->at), second->make(second->at));
    };
    found.push_back({at, make, {first, second}});
  }
  std::move(found.begin(), found.end(), std::back_inserter(all));
}

}  // namespace bench
