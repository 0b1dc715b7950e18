// SPDX-License-Identifier: Apache-2.0
// Attention of tensors in a file, forward and backward, for check_attention.py: attention_file
// host|cuda IN OUT. IN: eleven 64-bit integers and a double (`request`), then q, k, v, the bias if
// there is one, and dy; OUT: y, dq, dk, dv and dbias. All contiguous, in the machine's byte order.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/pattern_mask.hpp"

#include <slicesort/softmax_attention.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace support;

namespace {

struct request {
  std::int64_t dtype, materialized, mask, offset, with_bias;
  std::int64_t batch, heads, queries, keys, channels, values;
  double scale;
};

template <class T>
std::vector<T> read(std::ifstream& in, ss::extents4 e) {
  std::vector<T> elements(static_cast<std::size_t>(e.size()));
  in.read(reinterpret_cast<char*>(elements.data()),
          static_cast<std::streamsize>(elements.size() * sizeof(T)));
  if (!in) throw std::runtime_error("the file is too short");
  return elements;
}

template <class T, class Algorithm, class Exec>
void attend(Exec const& on, request const& r, std::ifstream& in, std::ofstream& out) {
  ss::extents4 const q_shape{r.batch, r.heads, r.queries, r.channels},
      k_shape{r.batch, r.heads, r.keys, r.channels}, v_shape{r.batch, r.heads, r.keys, r.values},
      y_shape{r.batch, r.heads, r.queries, r.values}, pairs{r.batch, r.heads, r.queries, r.keys};
  auto const q = read<T>(in, q_shape), k = read<T>(in, k_shape), v = read<T>(in, v_shape);
  auto const bias = read<T>(in, r.with_bias != 0 ? pairs : ss::extents4{});
  auto const dy = read<T>(in, y_shape);
  ss::attention_inputs<T> const inputs{
      {q.data(), q_shape}, {k.data(), k_shape}, {v.data(), v_shape}};
  ss::attention_inputs<T> const given{
      inputs.q, inputs.k, inputs.v,
      r.with_bias != 0 ? ss::tensor4<T const>(bias.data(), pairs) : ss::tensor4<T const>()};

  ss::softmax_attention<pattern_mask, Algorithm> const op{
      pattern_mask{static_cast<mask_kind>(r.mask), r.offset, 0}, r.scale};
  using state_type = typename ss::detail::attention_traits<Algorithm>::template state<T>;
  ss::extents4 const state_shape = op.saved_extents(q_shape, v_shape);
  std::vector<state_type> state(static_cast<std::size_t>(state_shape.size()));
  ss::tensor4<state_type> const saved{state.data(), state_shape};
  guarded_workspace scratch(op.template workspace_bytes<T>(on, q_shape, v_shape));
  std::vector<T> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dbias(bias.size());
  ss::tensor4<T> const result{y.data(), y_shape};
  op.forward(on, given, result, {saved}, scratch.get());
  op.backward(on, ss::tensor4<T const>(dy.data(), y_shape), given, result,
              {ss::tensor4<state_type const>(saved)},
              {{dq.data(), q_shape},
               {dk.data(), k_shape},
               {dv.data(), v_shape},
               r.with_bias != 0 ? ss::tensor4<T>(dbias.data(), pairs) : ss::tensor4<T>()},
              scratch.get());
  for (auto const* elements : {&y, &dq, &dk, &dv, &dbias})
    out.write(reinterpret_cast<char const*>(elements->data()),
              static_cast<std::streamsize>(elements->size() * sizeof(T)));
}

template <class T, class Exec>
void attend(Exec const& on, request const& r, std::ifstream& in, std::ofstream& out) {
  if (r.materialized != 0)
    attend<T, ss::materialized<>>(on, r, in, out);
  else
    attend<T, ss::streaming>(on, r, in, out);
}

template <class Exec>
void answer(Exec const& on, std::ifstream& in, std::ofstream& out) {
  request r{};
  in.read(reinterpret_cast<char*>(&r), sizeof r);
  if (r.dtype == 0) attend<float>(on, r, in, out);
  if (r.dtype == 1) attend<double>(on, r, in, out);
  if (r.dtype == 2) attend<ss::float16>(on, r, in, out);
  if (r.dtype == 3) attend<ss::bfloat16>(on, r, in, out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream in(argv[2], std::ios::binary);
  std::ofstream out(argv[3], std::ios::binary);
  try {
    if (std::string(argv[1]) == "host") answer(ss::exec::host{2}, in, out);
#if defined(SLICESORT_TEST_CUDA)
    if (std::string(argv[1]) == "cuda") answer(cuda_exec{}, in, out);
#endif
  } catch (std::exception const& e) {
    std::fprintf(stderr, "attention_file: %s\n", e.what());
    return 1;
  }
}
