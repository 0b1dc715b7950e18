// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include "launch.hpp"

#include <string>

namespace ptx {

namespace {

std::string limit_error(std::string const& name, std::uint64_t requested, std::uint64_t maximum) {
  return name + " " + std::to_string(requested) + ", at most " + std::to_string(maximum);
}

}  // namespace

std::string error_message(kernel const& k, launch const& config, device_limits const& device,
                          std::size_t opted_in) {
  std::uint64_t const threads = config.block.count();
  if (config.grid.count() == 0) return "a grid without blocks";
  if (threads == 0) return "a block without threads";
  if (threads > device.max_threads)
    return limit_error("threads of a block:", threads, device.max_threads);
  if (config.block.z > device.block_z)
    return limit_error("block.z:", config.block.z, device.block_z);
  if (k.max_threads != 0 && threads > k.max_threads)
    return limit_error("threads of a block, of a kernel with launch bounds:", threads,
                       k.max_threads);
  if (config.grid.x > device.grid_x) return limit_error("grid.x:", config.grid.x, device.grid_x);
  if (config.grid.y > device.grid_y) return limit_error("grid.y:", config.grid.y, device.grid_y);
  if (config.grid.z > device.grid_z) return limit_error("grid.z:", config.grid.z, device.grid_z);
  if (config.cluster == 0) return "a cluster without blocks";
  if (config.cluster > device.cluster_blocks)
    return limit_error("blocks of a cluster:", config.cluster, device.cluster_blocks);
  if (config.grid.x % config.cluster != 0)
    return "grid.x: " + std::to_string(config.grid.x) + ", no multiple of the cluster's " +
           std::to_string(config.cluster) + " blocks";
  std::size_t const shared = k.static_shared + config.shared_bytes;
  if (shared > device.shared_default && config.shared_bytes > opted_in)
    return limit_error(
        "bytes of dynamic shared memory without a larger opt-in:", config.shared_bytes, opted_in);
  if (shared > device.shared_opt_in)
    return limit_error("bytes of shared memory:", shared, device.shared_opt_in);
  return "";
}

}  // namespace ptx
