// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of sinkhorn, 20 half-steps. Compiled once per element type.
#include "driver/dataset.hpp"
#include "driver/settings.hpp"
#include "driver/tensors.hpp"
#include "sinkhorn/oracle.hpp"

#include <slicesort/sinkhorn.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace bench {
namespace {

// Extents [batch, rows, columns]. Compares the first matrix with the oracle of the tests.
template <class T>
class matrix_job final : public backend_job<host_backend> {
 public:
  explicit matrix_job(case_params const& params)
      : backend_job(params),
        is_backward_(params.direction == "backward"),
        x_(get_dataset<T>(params.input, params.extents)),
        dy_(is_backward_ ? get_dataset<T>("uniform", params.extents) : nullptr),
        to_(x_->values.size()) {
    allocate_scratch(op_.workspace_bytes(exec(), const_view(x_->values, params.extents)));
    traffic_bytes = (is_backward_ ? 3 : 2) * to_.bytes();
    // Relative to |logits| up to 5, and to |dy| of 1.
    tolerance = 0x1p6 * unit_roundoff<T>();
  }

  void run() override {
    auto const x = const_view(x_->values, params_.extents);
    if (is_backward_)
      op_.backward(exec(), const_view(dy_->values, params_.extents), x, view(to_, params_.extents),
                   scratch);
    else
      op_.forward(exec(), x, view(to_, params_.extents), scratch);
  }

  double max_error() override {
    ss::extents3 const e = params_.extents;
    auto const matrix_of = [&](auto const& values) {
      support::dense_matrix_oracle matrix(e.length, e.channels);
      for (ss::index_t i = 0; i < e.length; ++i)
        for (ss::index_t j = 0; j < e.channels; ++j)
          matrix(i, j) = to_double(values[static_cast<std::size_t>(i * e.channels + j)]);
      return matrix;
    };
    support::sinkhorn_oracle const oracle(matrix_of(x_->values), op_.half_steps());
    auto const expected = is_backward_ ? oracle.gradient(matrix_of(dy_->values)) : oracle.result();
    auto const actual = matrix_of(to_);
    double error = 0;
    for (ss::index_t i = 0; i < e.length; ++i)
      for (ss::index_t j = 0; j < e.channels; ++j)
        error = larger_error(error, static_cast<double>(std::abs(actual(i, j) - expected(i, j))));
    return error;
  }

 private:
  ss::sinkhorn const op_{1.0, 10};
  bool const is_backward_;
  std::shared_ptr<dataset<T>> x_, dy_;
  buffer<T> to_;
};

template <class T>
void add_sinkhorn() {
  auto const add = [](char const* input, ss::extents3 shape) {
    for (char const* direction : {"forward", "backward"})
      for (unsigned const threads : {1u, 2u})
        add_case<matrix_job<T>>(
            {"sinkhorn", direction, ss::dtype_traits<T>::name, "default", input, shape, threads});
  };
  add("normal", {65536, 4, 4});
  add("normal", {4096, 16, 16});
  add("normal", {64, 128, 128});
  add("normal", {1, 1024, 1024});
  for_each_sweep_shape([&](ss::extents3 shape) { add("uniform", shape); });
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "sinkhorn", add_sinkhorn<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
