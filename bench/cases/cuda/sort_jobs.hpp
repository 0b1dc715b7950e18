// SPDX-License-Identifier: Apache-2.0
// The cases about sorting, with their tensors on the device. A call runs on all samples; each is
// compared with the first one, and the first one with the oracle.
#pragma once

#include "cases/sort_jobs.hpp"
#include "driver/cuda/tensors.hpp"

#include <cstddef>

namespace bench {

template <class T>
class device_sort_job : public sort_job<T> {
 public:
  device_sort_job(fields const& f, std::size_t workspace)
      : sort_job<T>(one_sample(f)),
        x_on_device(f.extents, this->x->values),
        y_on_device(f.extents),
        perm_on_device(f.extents.batch, this->perm),
        scratch(workspace) {
    this->workspace_bytes = workspace;
    this->saved_bytes = perm_on_device.bytes();
    this->traffic_bytes = x_on_device.bytes() + y_on_device.bytes() + perm_on_device.bytes();
  }
  double max_error() override {
    bool const alike = y_on_device.fetch(this->y) && perm_on_device.fetch(this->perm);
    return alike ? first_sample_error() : wrong;
  }

 protected:
  virtual double first_sample_error() { return sort_job<T>::max_error(); }

  device_tensor<T> x_on_device, y_on_device;
  device_indices perm_on_device;
  device_buffer<unsigned char> scratch;
};

template <class T>
class device_unsort_job : public unsort_job<T> {
 public:
  device_unsort_job(fields const& f, std::size_t workspace)
      : unsort_job<T>(one_sample(f)),
        dy_on_device(f.extents, this->dy->values),
        dx_on_device(f.extents),
        perm_on_device(f.extents.batch, this->perm),
        scratch(workspace) {
    perm_on_device.fill(this->perm);
    this->workspace_bytes = workspace;
    this->saved_bytes = perm_on_device.bytes();
    this->traffic_bytes = dy_on_device.bytes() + dx_on_device.bytes() + perm_on_device.bytes();
  }
  double max_error() override {
    return dx_on_device.fetch(this->dx) ? first_sample_error() : wrong;
  }

 protected:
  virtual double first_sample_error() { return unsort_job<T>::max_error(); }

  device_tensor<T> dy_on_device, dx_on_device;
  device_indices perm_on_device;
  device_buffer<unsigned char> scratch;
};

}  // namespace bench
