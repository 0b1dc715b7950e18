// SPDX-License-Identifier: Apache-2.0
// Baselines on a GPU: transpose, segmented sort with CUB, transpose back. Buffers, row indices and
// offsets are prepared before timing. Keys are the library's total order as unsigned integers, so
// results agree except for the signs of zeros and the payloads of NaN. Compiled once per element
// type.
#include "cases/sort_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <vector>

namespace bench {
namespace {

// Transposes tiles in shared memory, for coalesced accesses to both tensors.
constexpr int tile = 32, rows_per_pass = 8;
using row_index = std::uint16_t;

template <class T>
using key_type = ss::detail::bits_t<T>;

// Transposes every sample and applies f to each value. [rows, columns] -> [columns, rows]
template <class From, class To, class F>
__device__ void transpose(From const* from, To* to, int rows, int columns, F const& f) {
  __shared__ To shared[tile][tile + 1];
  std::size_t const sample = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  from += blockIdx.z * sample;
  to += blockIdx.z * sample;
  int const first_column = static_cast<int>(blockIdx.x) * tile,
            first_row = static_cast<int>(blockIdx.y) * tile, x = static_cast<int>(threadIdx.x);
  __syncthreads();  // protects `shared` of a previous transposition
  for (int y = static_cast<int>(threadIdx.y); y < tile; y += rows_per_pass)
    if (first_row + y < rows && first_column + x < columns)
      shared[y][x] =
          f(from[static_cast<std::size_t>(first_row + y) * static_cast<std::size_t>(columns) +
                 static_cast<std::size_t>(first_column + x)]);
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < tile; y += rows_per_pass)
    if (first_column + y < columns && first_row + x < rows)
      to[static_cast<std::size_t>(first_column + y) * static_cast<std::size_t>(rows) +
         static_cast<std::size_t>(first_row + x)] = shared[x][y];
}

template <class T>
__global__ void to_keys(T const* x, key_type<T>* keys, int length, int channels) {
  transpose(x, keys, length, channels,
            [](T value) { return ss::detail::ordered_key(value, true); });
}

template <class T>
__global__ void from_keys(key_type<T> const* keys, row_index const* rows, T* y, row_index* perm,
                          int length, int channels) {
  transpose(keys, y, channels, length, [](key_type<T> key) {
    return ss::detail::bit_cast<T>(ss::detail::unsortable_bits(key));
  });
  transpose(rows, perm, channels, length, [](row_index row) { return row; });
}

__global__ void number_rows(row_index* rows, std::size_t size, std::size_t length) {
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride)
    rows[i] = static_cast<row_index>(i % length);
}

template <class T, bool Radix>
class cub_job final : public sort_job<T, cuda_backend> {
 public:
  explicit cub_job(case_params const& params)
      : sort_job<T, cuda_backend>(params), shape_(params.extents) {
    auto const size = static_cast<std::size_t>(shape_.size());
    columns_ = static_cast<int>(shape_.batch * shape_.channels);
    keys_ = device_buffer<key_type<T>>(size);
    sorted_keys_ = device_buffer<key_type<T>>(size);
    rows_ = device_buffer<row_index>(size);
    sorted_rows_ = device_buffer<row_index>(size);
    number_rows<<<1024, 256, 0, stream()>>>(rows_.data(), size,
                                            static_cast<std::size_t>(shape_.length));
    enforce(cudaGetLastError(), "number_rows");

    std::vector<int> offsets(static_cast<std::size_t>(columns_) + 1);
    for (std::size_t i = 0; i < offsets.size(); ++i)
      offsets[i] = static_cast<int>(i) * static_cast<int>(shape_.length);
    offsets_ = device_buffer<int>(offsets.size());
    repeat_sample(offsets_.data(), offsets.data(), offsets_.bytes(), 1);

    std::size_t bytes = 0;
    sort(nullptr, bytes);
    temporary_ = device_buffer<unsigned char>(bytes);
    this->workspace_bytes = keys_.bytes() + sorted_keys_.bytes() + rows_.bytes() +
                            sorted_rows_.bytes() + offsets_.bytes() + bytes;
  }

  void run() override {
    dim3 const threads(tile, rows_per_pass);
    auto const tiles = [](ss::index_t n) { return static_cast<unsigned>((n + tile - 1) / tile); };
    auto const batch = static_cast<unsigned>(shape_.batch);
    int const length = static_cast<int>(shape_.length),
              channels = static_cast<int>(shape_.channels);
    to_keys<<<dim3(tiles(channels), tiles(length), batch), threads, 0, stream()>>>(
        this->backend_x.const_view().data(), keys_.data(), length, channels);
    enforce(cudaGetLastError(), "to_keys");
    std::size_t bytes = temporary_.bytes();
    sort(temporary_.data(), bytes);
    from_keys<<<dim3(tiles(length), tiles(channels), batch), threads, 0, stream()>>>(
        sorted_keys_.data(), sorted_rows_.data(), this->backend_y.view().data(),
        static_cast<row_index*>(this->backend_perm.view().data()), length, channels);
    enforce(cudaGetLastError(), "from_keys");
  }

 private:
  void sort(void* temporary, std::size_t& bytes) {
    int const items = static_cast<int>(shape_.size());
    if constexpr (Radix)
      enforce(cub::DeviceSegmentedRadixSort::SortPairs(
                  temporary, bytes, keys_.data(), sorted_keys_.data(), rows_.data(),
                  sorted_rows_.data(), items, columns_, offsets_.data(), offsets_.data() + 1, 0,
                  static_cast<int>(8 * sizeof(T)), stream()),
              "cub::DeviceSegmentedRadixSort");
    else
      enforce(
          cub::DeviceSegmentedSort::StableSortPairs(
              temporary, bytes, keys_.data(), sorted_keys_.data(), rows_.data(),
              sorted_rows_.data(), items, columns_, offsets_.data(), offsets_.data() + 1, stream()),
          "cub::DeviceSegmentedSort");
  }

  ss::extents3 shape_;
  int columns_ = 0;
  device_buffer<key_type<T>> keys_, sorted_keys_;
  device_buffer<row_index> rows_, sorted_rows_;
  device_buffer<int> offsets_;
  device_buffer<unsigned char> temporary_;
};

template <class T>
void add_cub_sorts() {
  auto const add = [](char const* subject, auto add_to_bench) {
    for_each_device_setting<T>(subject, "forward", [&](case_params const& params) {
      // Row indices have 16 bits.
      if (params.extents.length <= 65536) add_to_bench(params);
    });
  };
  add("baseline_cub_segmented_sort", add_case<cub_job<T, false>>);
  add("baseline_cub_segmented_radix_sort", add_case<cub_job<T, true>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "cub_sorts", add_cub_sorts<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
