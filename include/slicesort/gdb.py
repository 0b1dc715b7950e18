# SPDX-License-Identifier: Apache-2.0
"""Pretty printers for gdb: views, extents, strides and 16-bit types. In gdb, or in ~/.gdbinit:
    source include/slicesort/gdb.py
Installed beside the headers."""
import struct

import gdb
import gdb.printing

ENDS = 3  # positions shown at each end of a long axis
AXES = ("outer", "batch", "heads", "length", "channels")


def axes(value: gdb.Value) -> list[int]:
    """Extents or strides as numbers."""
    names = [field.name for field in value.type.fields()]
    return [int(value[name]) for name in AXES if name in names]


def in_brackets(numbers: list[int]) -> str:
    return "[" + ", ".join(map(str, numbers)) + "]"


def number_of(value: gdb.Value) -> str:
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


def values(data: gdb.Value, extents: list[int], strides: list[int], indent: int = 1) -> str:
    if not extents:
        return number_of(data.dereference())
    count, parts = extents[0], []
    for n in range(count) if count <= 2 * ENDS else [*range(ENDS), -1, *range(count - ENDS, count)]:
        parts.append("..." if n < 0 else values(data + n * strides[0], extents[1:], strides[1:], indent + 1))
    return "[" + (" " if len(extents) == 1 else "\n" + " " * indent).join(parts) + "]"


def view(type_name: str, data: gdb.Value, extents: list[int], strides: list[int]) -> str:
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
        return f"{text}\n{values(data, extents, strides)}"
    except gdb.MemoryError:  # for example, device memory
        return f"{text}\nat {int(data):#x}, which gdb cannot read"


class Printer:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value


class Tensor(Printer):
    def to_string(self) -> str:
        v = self.value
        element = v.type.strip_typedefs().template_argument(0)
        one_axis = "size_" in [field.name for field in v.type.fields()]
        extents = [int(v["size_"])] if one_axis else axes(v["extents_"])
        strides = [int(v["stride_"])] if one_axis else axes(v["strides_"])
        return view(str(element), v["data_"], extents, strides)


class IndexTensor(Printer):
    def to_string(self) -> str:
        v, width = self.value, int(self.value["width_"])
        element = gdb.lookup_type({1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}[width])
        return view(f"u{8 * width}", v["data_"].cast(element.pointer()), axes(v["extents_"]), axes(v["strides_"]))


class Axes(Printer):
    def to_string(self) -> str:
        return in_brackets(axes(self.value))


class Half(Printer):
    def to_string(self) -> str:
        return number_of(self.value)


printers = gdb.printing.RegexpCollectionPrettyPrinter("slicesort")
for pattern, printer in ((r"tensor([134]|_stack)<.*>", Tensor), (r"basic_index_tensor3<.*>", IndexTensor),
                         (r"(axes[34]|stack_axes)<.*>", Axes), (r"b?float16", Half)):
    printers.add_printer(pattern, rf"^slicesort::(v\d+::)?({pattern})$", printer)
gdb.printing.register_pretty_printer(None, printers, replace=True)
