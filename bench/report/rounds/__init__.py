# SPDX-License-Identifier: Apache-2.0
"""Which cases are timed in the same rounds, and programs that take turns in them."""
