// SPDX-License-Identifier: Apache-2.0
// csp on the GPU. Compiled once per element type.
#include "cases/csp_jobs.hpp"
#include "move_jobs.hpp"
#include "settings.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/cuda.cuh>

#include <cstddef>
#include <string>

namespace bench {
namespace {

template <class T>
std::size_t workspace_of(fields const& at) {
  return with_csp(
      at, [&](auto const& op) { return op.template workspace_bytes<T>(on_device(), at.extents); });
}

template <class T>
class csp_job final : public device_move_job<T, csp_of_rows<T>> {
 public:
  explicit csp_job(fields const& f)
      : device_move_job<T, csp_of_rows<T>>(f, workspace_of<T>(f)),
        shape_(f),
        order_on_device_(f.extents.batch, this->order) {
    this->saved_bytes = order_on_device_.bytes();
    this->traffic_bytes += order_on_device_.bytes();
    if (!this->backward) return;
    device_tensor<T> const values(f.extents, this->x->values), sorted(f.extents);
    with_csp(shape_, [&](auto const& op) {
      op.forward(on_device(), values.const_view(), sorted.view(), {order_on_device_.view()},
                 lend(this->scratch));
    });
    enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }
  void run() override {
    auto const in = this->from_on_device.const_view();
    auto const out = this->to_on_device.view();
    with_csp(shape_, [&](auto const& op) {
      if (this->backward)
        op.backward(on_device(), in, {order_on_device_.view()}, out, lend(this->scratch));
      else if (shape_.direction == "forward")
        op.forward(on_device(), in, out, {order_on_device_.view()}, lend(this->scratch));
      else
        op.forward(on_device(), in, out, ss::no_saved, lend(this->scratch));
    });
  }
  double max_error() override {
    if (!order_on_device_.fetch(this->order)) return wrong;
    return device_move_job<T, csp_of_rows<T>>::max_error();
  }

 private:
  fields const shape_;  // of all samples
  device_indices order_on_device_;
};

template <class T>
void add_csp() {
  fields at;
  at.backend = "cuda";
  at.subject = "csp";
  at.dtype = ss::dtype_traits<T>::name;
  at.input = "normal";
  auto const add = [&](std::string const& policy, ss::extents3 e) {
    at.policy = policy;
    at.extents = e;
    add_case<csp_job<T>>(at);
  };
  auto const add_on = [&](std::string const& input, std::string const& policy, ss::extents3 e) {
    at.input = input;
    add(policy, e);
    at.input = "normal";
  };
  for (char const* direction : {"forward", "forward_values", "backward"}) {
    at.direction = direction;
    for (std::string const shift : {"none", "linear"})
      for (std::string const alignment : {"reference", "ascending"})
        for (std::string const group : {"1", "2", "16", "64", "1024", "N"}) {
          std::string const policy = shift + '-' + alignment + "-G:" + group;
          for (ss::index_t const n : {1024, 4096})
            if (n != 1024 || group != "1024") add(policy, device_shape(n));
          add(policy, {2, 37, 24});
        }
    for (char const* group : {"4", "8", "32", "128", "256", "512", "2048"})
      add(std::string("linear-reference-G:") + group, device_shape(4096));
    for (char const* policy : {"linear-reference-G:2", "linear-reference-G:16"}) {
      for_each_task_shape(
          [&](std::string const& input, ss::extents3 e) { add_on(input, policy, e); });
      add_on("text", policy, {2, 37, 24});
    }
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("csp", add_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
