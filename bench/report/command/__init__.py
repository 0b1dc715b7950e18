# SPDX-License-Identifier: Apache-2.0
"""The command `bench/run`: its options, the build, and what each mode runs."""
