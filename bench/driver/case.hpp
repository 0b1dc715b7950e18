// SPDX-License-Identifier: Apache-2.0
// Benchmark cases: parameters, name and factory. Subjects register them.
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

// Parameters of a case, which make up its name. A baseline has the parameters of its operator.
struct case_params {
  std::string subject, direction, dtype, policy = {}, input = {};
  ss::extents3 extents = {};
  unsigned threads = 1;  // on the host
  std::string backend = "host";
  ss::isa isa = ss::isa::best;

  std::string name() const {
    std::string const forced = isa == ss::isa::portable ? "@portable"
                               : isa == ss::isa::avx2   ? "@avx2"
                               : isa == ss::isa::avx512 ? "@avx512"
                                                        : "";
    std::string const name = subject + forced + '/' + backend + '/' + direction + '/' + dtype +
                             '/' + policy + '/' + input + "/B:" + std::to_string(extents.batch) +
                             "/N:" + std::to_string(extents.length) +
                             "/C:" + std::to_string(extents.channels);
    return backend == "host" ? name + "/T:" + std::to_string(threads) : name;
  }
  ss::exec::host exec() const { return {threads, isa}; }
};

// A case with its data, which exists only while the case runs.
class job {
 public:
  virtual ~job() = default;
  virtual void run() = 0;
  // Returns the largest error of the results of `run` against the oracle.
  virtual double max_error() = 0;

  std::size_t traffic_bytes = 0;  // lower bound: inputs, outputs, indices
  std::size_t saved_bytes = 0;    // saved by forward for backward
  std::size_t workspace_bytes = 0;
  double flops = 0.0;       // without comparisons
  double tolerance = 0.0;   // 0 if values only move
  bool is_verified = true;  // false if there is no oracle
};

// Infinite error of a result that rounding cannot explain.
inline constexpr double wrong_result = std::numeric_limits<double>::infinity();

struct bench_case {
  case_params params;
  std::function<std::unique_ptr<job>(case_params const&)> make;
  // Forward and backward of a training case, else empty. Their peak memory is measured separately.
  std::vector<std::shared_ptr<bench_case const>> passes = {};
};

inline std::vector<bench_case>& all_cases() {
  static std::vector<bench_case> cases;
  return cases;
}

template <class Job>
void add_case(case_params const& params) {
  all_cases().push_back({params, [](case_params const& p) -> std::unique_ptr<job> {
                           return std::make_unique<Job>(p);
                         }});
}

// A file of bench/cases, compiled once per element type. Subjects register themselves.
struct subject {
  std::string name, dtype;
  std::function<void()> add_cases;
};

inline std::vector<subject>& all_subjects() {
  static std::vector<subject> subjects;
  return subjects;
}

// Registers a subject: `operator_registration<T> const registration("permute", add_permute<T>);`
template <class T>
struct operator_registration {
  operator_registration(char const* name, void (*add_cases)()) {
    all_subjects().push_back({name, ss::dtype_traits<T>::name, add_cases});
  }
};

// Adds the cases of all subjects, sorted so that their order does not depend on the linker.
inline void add_all_subjects() {
  auto& subjects = all_subjects();
  std::sort(subjects.begin(), subjects.end(), [](subject const& a, subject const& b) {
    return std::tie(a.dtype, a.name) < std::tie(b.dtype, b.name);
  });
  for (subject const& s : subjects) s.add_cases();
}

}  // namespace bench
