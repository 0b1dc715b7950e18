// SPDX-License-Identifier: Apache-2.0
// Calls between the units of a program that check_mixed_units.py links. Their arguments are types
// that units exchange, whatever compiled them.
#pragma once

#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

// Returns the bits of what all operators write.
using fingerprint_call = unsigned (*)(ss::exec::host);
using sort_call = void (*)(ss::exec::host, ss::tensor3<float const>, ss::tensor3<float>,
                           ss::saved_permutation);

// Adds a unit to those that main calls.
void add_unit(char const* name, fingerprint_call fingerprint, sort_call sort, bool throws);
