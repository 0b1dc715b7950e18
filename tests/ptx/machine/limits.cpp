// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"

#include "launch.hpp"

#include <string>

namespace ptx {

namespace {

std::string more(std::string const& what, std::uint64_t asked, std::uint64_t most) {
  return what + " " + std::to_string(asked) + ", at most " + std::to_string(most);
}

}  // namespace

std::string refusal(kernel const& k, launch const& how, device_limits const& device,
                    std::size_t opted_in) {
  std::uint64_t const threads = how.block.count();
  if (how.grid.count() == 0) return "a grid without blocks";
  if (threads == 0) return "a block without threads";
  if (threads > device.threads_a_block)
    return more("threads of a block:", threads, device.threads_a_block);
  if (how.block.z > device.block_z) return more("block.z:", how.block.z, device.block_z);
  if (k.max_threads != 0 && threads > k.max_threads)
    return more("threads of a block, of a kernel with launch bounds:", threads, k.max_threads);
  if (how.grid.x > device.grid_x) return more("grid.x:", how.grid.x, device.grid_x);
  if (how.grid.y > device.grid_y) return more("grid.y:", how.grid.y, device.grid_y);
  if (how.grid.z > device.grid_z) return more("grid.z:", how.grid.z, device.grid_z);
  if (how.cluster == 0) return "a cluster without blocks";
  if (how.cluster > device.cluster_blocks)
    return more("blocks of a cluster:", how.cluster, device.cluster_blocks);
  if (how.grid.x % how.cluster != 0)
    return "grid.x: " + std::to_string(how.grid.x) + ", no multiple of the cluster's " +
           std::to_string(how.cluster) + " blocks";
  std::size_t const shared = k.static_shared + how.shared_bytes;
  if (shared > device.shared_a_block && how.shared_bytes > opted_in)
    return more("bytes of dynamic shared memory, of what the kernel asked for:", how.shared_bytes,
                opted_in);
  if (shared > device.shared_opt_in)
    return more("bytes of shared memory:", shared, device.shared_opt_in);
  return "";
}

}  // namespace ptx
