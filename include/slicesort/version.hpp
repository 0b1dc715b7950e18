// SPDX-License-Identifier: Apache-2.0
/// The version. CMake, the namespace and the docs are checked against these numbers.
#pragma once

#define SLICESORT_VERSION_MAJOR 0
#define SLICESORT_VERSION_MINOR 2
#define SLICESORT_VERSION_PATCH 0
