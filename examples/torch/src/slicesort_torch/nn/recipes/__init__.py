# SPDX-License-Identifier: Apache-2.0
"""Attention of other papers: the recipes of examples/recipes as modules."""
