// SPDX-License-Identifier: Apache-2.0
// The cases that only move rows, with their tensors on the device.
#pragma once

#include "cases/move_jobs.hpp"
#include "driver/cuda/tensors.hpp"

#include <cstddef>

namespace bench {

// Adds the tensors on the device to a move_job, `Rows`.
template <class T, class Rows>
class device_move_job : public Rows {
 public:
  device_move_job(fields const& f, std::size_t workspace)
      : Rows(one_sample(f)),
        from_on_device(f.extents, this->from->values),
        to_on_device(f.extents),
        scratch(workspace) {
    this->workspace_bytes = workspace;
    this->traffic_bytes = from_on_device.bytes() + to_on_device.bytes();
  }
  double max_error() override { return to_on_device.fetch(this->to) ? Rows::max_error() : wrong; }

 protected:
  device_tensor<T> from_on_device, to_on_device;
  device_buffer<unsigned char> scratch;
};

}  // namespace bench
