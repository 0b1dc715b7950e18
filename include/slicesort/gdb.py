# SPDX-License-Identifier: Apache-2.0
"""Pretty printers for gdb: views, extents, strides and 16-bit types. In gdb, or in ~/.gdbinit:
    source include/slicesort/gdb.py
Installed beside the headers."""
import struct

import gdb
import gdb.printing

EDGE_ITEMS = 3  # positions shown at each end of a long axis
AXES = ("outer", "batch", "heads", "length", "channels")


def axis_values(value: gdb.Value) -> list[int]:
    """Extents or strides as numbers."""
    names = [field.name for field in value.type.fields()]
    return [int(value[name]) for name in AXES if name in names]


def in_brackets(numbers: list[int]) -> str:
    return "[" + ", ".join(map(str, numbers)) + "]"


def format_element(value: gdb.Value) -> str:
    """Text of an element."""
    name = value.type.strip_typedefs().unqualified().name or ""
    if name.endswith("::float16"):
        return f"{struct.unpack('<e', struct.pack('<H', int(value['bits'])))[0]:g}"
    if name.endswith("::bfloat16"):
        return f"{struct.unpack('<f', struct.pack('<I', int(value['bits']) << 16))[0]:g}"
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_INT:
        return str(int(value))
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_FLT:
        return f"{float(value):g}"
    return value.format_string()


def format_elements(data: gdb.Value, extents: list[int], strides: list[int], indent: int = 1) -> str:
    if not extents:
        return format_element(data.dereference())
    count, parts = extents[0], []
    for n in range(count) if count <= 2 * EDGE_ITEMS else [*range(EDGE_ITEMS), None, *range(count - EDGE_ITEMS, count)]:
        parts.append("..." if n is None else format_elements(data + n * strides[0], extents[1:], strides[1:], indent + 1))
    return "[" + (" " if len(extents) == 1 else "\n" + " " * indent).join(parts) + "]"


def format_view(type_name: str, data: gdb.Value, extents: list[int], strides: list[int]) -> str:
    dense, stride = True, 1
    for extent, step in zip(reversed(extents), reversed(strides)):
        dense = dense and (extent <= 1 or step == stride)
        stride *= extent
    text = f"{type_name} {in_brackets(extents)}" + ("" if dense else f" strides {in_brackets(strides)}")
    if min(extents) <= 0:
        return f"{text}\n[]"
    if int(data) == 0:
        return f"{text}\nnull"
    try:
        return f"{text}\n{format_elements(data, extents, strides)}"
    except gdb.MemoryError:  # for example, device memory
        return f"{text}\nat {int(data):#x}, which gdb cannot read"


class Printer:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value


class Tensor(Printer):
    def to_string(self) -> str:
        v = self.value
        element = v.type.strip_typedefs().template_argument(0)
        has_one_axis = "size_" in [field.name for field in v.type.fields()]
        extents = [int(v["size_"])] if has_one_axis else axis_values(v["extents_"])
        strides = [int(v["stride_"])] if has_one_axis else axis_values(v["strides_"])
        return format_view(str(element), v["data_"], extents, strides)


class IndexTensor(Printer):
    def to_string(self) -> str:
        v, width = self.value, int(self.value["width_"])
        element = gdb.lookup_type({1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}[width])
        return format_view(f"u{8 * width}", v["data_"].cast(element.pointer()), axis_values(v["extents_"]), axis_values(v["strides_"]))


class Axes(Printer):
    def to_string(self) -> str:
        return in_brackets(axis_values(self.value))


class Float16(Printer):
    def to_string(self) -> str:
        return format_element(self.value)


printers = gdb.printing.RegexpCollectionPrettyPrinter("slicesort")
for pattern, printer in ((r"tensor([134]|_stack)<.*>", Tensor), (r"basic_index_tensor3<.*>", IndexTensor),
                         (r"(axes[34]|stack_axes)<.*>", Axes), (r"b?float16", Float16)):
    printers.add_printer(pattern, rf"^slicesort::(v\d+::)?({pattern})$", printer)
gdb.printing.register_pretty_printer(None, printers, replace=True)
