# SPDX-License-Identifier: Apache-2.0
"""The arena's page: what it shows, how it is written, and its test in a browser."""
