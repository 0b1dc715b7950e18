// SPDX-License-Identifier: Apache-2.0
#error "a CUDA header was reached by a host-only program"
