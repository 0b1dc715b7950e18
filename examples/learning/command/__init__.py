# SPDX-License-Identifier: Apache-2.0
"""examples/learning/run: builds the training program, runs it, and makes tables and figures of the results."""
