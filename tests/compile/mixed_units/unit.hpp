// SPDX-License-Identifier: Apache-2.0
// Calls between the units of a program that check_mixed_units.py links. Their arguments have types
// that differently compiled units can exchange.
#pragma once

#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

// Returns a hash of the results of all operators.
using fingerprint_call = unsigned (*)(ss::exec::host);
using sort_call = void (*)(ss::exec::host, ss::tensor3<float const>, ss::tensor3<float>,
                           ss::saved_permutation);

// Registers a unit for main.
void register_unit(char const* name, fingerprint_call fingerprint, sort_call sort, bool throws);
