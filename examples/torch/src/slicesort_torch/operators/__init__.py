# SPDX-License-Identifier: Apache-2.0
"""One file for each operator: what torch must know of it (shapes, gradients, vmap), and its function."""
