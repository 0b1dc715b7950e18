// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <slicesort/slicing_sort.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstdint>

namespace ss = slicesort;

namespace {

template <class T>
ss::tensor3<T> view3(std::int64_t const shape[3], T* data) {
  return {data, {shape[0], shape[1], shape[2]}};
}
template <class T>
ss::tensor4<T> view4(std::int64_t const shape[4], T* data) {
  return {data, {shape[0], shape[1], shape[2], shape[3]}};
}
template <class T>
ss::tensor4<T> state_view(std::int64_t const shape[4], T* data) {
  return {data, {shape[0], shape[1], shape[2], 2}};
}

ss::slicing_sort<ss::half_half> const sort{ss::half_half{2}};
ss::softmax_attention<ss::mask::causal> const attention(ss::mask::causal{}, 0.5);

}  // namespace

void reference_slicing_sort(int64_t const shape[3], float const* x, float* y, uint16_t* perm) {
  static ss::scratch memory;
  sort.forward(ss::exec::host{}, view3(shape, x), view3(shape, y), view3(shape, perm), memory);
}
void reference_slicing_sort_backward(int64_t const shape[3], float const* dy, uint16_t const* perm,
                                     float* dx) {
  static ss::scratch memory;
  sort.backward(ss::exec::host{}, view3(shape, dy), view3(shape, perm), view3(shape, dx), memory);
}

void reference_softmax_attention(int64_t const shape[4], float const* q, float const* k,
                                 float const* v, float* y, float* state) {
  static ss::scratch memory;
  attention.forward(ss::exec::host{}, {view4(shape, q), view4(shape, k), view4(shape, v)},
                    view4(shape, y), state_view(shape, state), memory);
}
void reference_softmax_attention_backward(int64_t const shape[4], float const* dy, float const* q,
                                          float const* k, float const* v, float const* y,
                                          float const* state, float* dq, float* dk, float* dv) {
  static ss::scratch memory;
  attention.backward(ss::exec::host{}, view4(shape, dy),
                     {view4(shape, q), view4(shape, k), view4(shape, v)}, view4(shape, y),
                     state_view(shape, state),
                     {view4(shape, dq), view4(shape, dk), view4(shape, dv)}, memory);
}
