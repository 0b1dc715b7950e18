# SPDX-License-Identifier: Apache-2.0
"""What a user would write in PyTorch, timed beside the operators (bench/run --peers)."""
