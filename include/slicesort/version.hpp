// SPDX-License-Identifier: Apache-2.0
/// Library version. A check keeps CMake, the namespace and the docs in agreement with it.
#pragma once

#define SLICESORT_VERSION_MAJOR 0
#define SLICESORT_VERSION_MINOR 3
#define SLICESORT_VERSION_PATCH 0
