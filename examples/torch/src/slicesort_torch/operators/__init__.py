# SPDX-License-Identifier: Apache-2.0
"""A file per operator: its registration with torch (shapes, gradients, vmap) and its function."""
