// SPDX-License-Identifier: Apache-2.0
// One case: what is measured, under which name, and how to make it when it is about to run; and the
// subjects, which add cases.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace bench {

namespace ss = slicesort;

// The fields of a case's name. A baseline carries those of the case it stands beside.
struct fields {
  std::string subject, direction, dtype, policy = {}, input = {};
  ss::extents3 extents = {};
  unsigned threads = 1;  // on the host
  std::string backend = "host";
  ss::isa instructions = ss::isa::best;

  std::string name() const {
    std::string const forced = instructions == ss::isa::portable ? "@portable"
                               : instructions == ss::isa::avx2   ? "@avx2"
                               : instructions == ss::isa::avx512 ? "@avx512"
                                                                 : "";
    std::string const all = subject + forced + '/' + backend + '/' + direction + '/' + dtype + '/' +
                            policy + '/' + input + "/B:" + std::to_string(extents.batch) +
                            "/N:" + std::to_string(extents.length) +
                            "/C:" + std::to_string(extents.channels);
    return backend == "host" ? all + "/T:" + std::to_string(threads) : all;
  }
  ss::exec::host exec() const { return {threads, instructions}; }
};

// A case with its data: made when the case is about to run, gone afterwards.
class job {
 public:
  virtual ~job() = default;
  virtual void run() = 0;
  // Compares the results of `run` with the oracle: 0, or by how much a value is wrong.
  virtual double max_error() = 0;

  std::size_t traffic_bytes = 0;    // that any implementation must move: inputs, outputs, indices
  std::size_t saved_bytes = 0;      // kept from forward to backward
  std::size_t workspace_bytes = 0;  // scratch of the call
  double flops = 0.0;               // of sums and products of values; comparisons are none
  double tolerance = 0.0;           // sums may round; whatever only moves values may not err
  bool verified = true;             // false: there is no oracle, and `max_error` says nothing
};

// The error of a result that rounding cannot explain.
inline constexpr double wrong = std::numeric_limits<double>::infinity();

struct bench_case {
  fields at;
  std::function<std::unique_ptr<job>(fields const&)> make;
  // The forward and backward of a training case, whose peak memory is measured separately.
  std::vector<std::shared_ptr<bench_case const>> parts = {};
};

inline std::vector<bench_case>& all_cases() {
  static std::vector<bench_case> cases;
  return cases;
}

template <class Job>
void add_case(fields const& at) {
  all_cases().push_back(
      {at, [](fields const& f) -> std::unique_ptr<job> { return std::make_unique<Job>(f); }});
}

// Cases of one element type that a file of bench/cases adds. It is compiled once for each type and
// registers itself, so nothing else lists subjects.
struct subject {
  std::string name, dtype;
  std::function<void()> add;  // its cases
};

inline std::vector<subject>& all_subjects() {
  static std::vector<subject> subjects;
  return subjects;
}

// `subject_of<T> const here("max_exchange", add_max_exchange<T>);`
template <class T>
struct subject_of {
  subject_of(char const* name, void (*add)()) {
    all_subjects().push_back({name, ss::dtype_traits<T>::name, add});
  }
};

// Cases run in the order in which they are added; sorting makes it independent of the linker.
inline void add_all_subjects() {
  auto& all = all_subjects();
  std::sort(all.begin(), all.end(), [](subject const& a, subject const& b) {
    return std::tie(a.dtype, a.name) < std::tie(b.dtype, b.name);
  });
  for (subject const& s : all) s.add();
}

}  // namespace bench
