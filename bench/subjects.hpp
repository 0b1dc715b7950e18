// SPDX-License-Identifier: Apache-2.0
// Each adds its subject's cases for element type T, in the order in which they run.
#pragma once

namespace bench {

template <class T>
void add_slicing_sort();
template <class T>
void add_multi_permutation();
template <class T>
void add_max_exchange();
template <class T>
void add_shuffle();
template <class T>
void add_baselines();

}  // namespace bench
