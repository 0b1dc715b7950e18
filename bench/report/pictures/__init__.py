# SPDX-License-Identifier: Apache-2.0
"""The pictures: each drawn twice, for light and for dark pages."""
