# SPDX-License-Identifier: Apache-2.0
"""Runs examples/bindings/c/onnxruntime in ONNX Runtime and compares its bits with calls of libslicesort. SLICESORT_ONNX_OPS is the
path of the compiled custom operators; without it, or without the packages onnx and onnxruntime, the tests are skipped."""
import os
import unittest

from views import Pairs, SoftmaxAttention, Tensor, call, random_tensor

try:
    import numpy
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError:
    onnxruntime = None
OPERATORS = os.environ.get("SLICESORT_ONNX_OPS")
REASON = "needs onnx, onnxruntime, and examples/bindings/c/onnxruntime compiled with onnxruntime_c_api.h, which no package of PyPI has"


@unittest.skipUnless(onnxruntime and OPERATORS, REASON)
class CustomOperators(unittest.TestCase):
    def run_model(self, name: str, inputs: list[Tensor], output_types: list[int], **attributes: str) -> list:
        names, outputs = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(output_types))]
        rank = len(inputs[0].shape)
        graph = helper.make_graph(
            [helper.make_node(name, names, outputs, domain="slicesort", **attributes)], name,
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, [None] * rank) for x in names],
            [helper.make_tensor_value_info(y, kind, [None] * rank) for y, kind in zip(outputs, output_types)])
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("slicesort", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.register_custom_ops_library(OPERATORS)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {x: numpy.ctypeslib.as_array(tensor.values).reshape(tensor.shape) for x, tensor in zip(names, inputs)})

    def test_slicing_sort(self) -> None:
        shape = (2, 300, 40)
        x, y, perm = random_tensor(shape, 1, "float32"), Tensor(shape, dtype="float32"), Tensor(shape, dtype="int32")
        call("slicing_sort", None, b"half_half{2}", x, y, perm, None)
        results = self.run_model("SlicingSort", [x], [TensorProto.FLOAT, TensorProto.INT32], order="half_half{2}")
        self.assertEqual(results[0].shape, shape)
        self.assertEqual([result.tobytes() for result in results], [bytes(y.values), bytes(perm.values)])

    def test_softmax_attention(self) -> None:
        inputs = [random_tensor(shape, i, "float32") for i, shape in enumerate([(2, 3, 50, 8), (2, 3, 60, 8), (2, 3, 60, 5)])]
        y = Tensor((2, 3, 50, 5), dtype="float32")
        call("softmax_attention", None, SoftmaxAttention(pairs=Pairs(mask=b"window{9, 4}")), *inputs, y, None)
        result, = self.run_model("SoftmaxAttention", inputs, [TensorProto.FLOAT], mask="window{9, 4}")
        self.assertEqual(result.shape, y.shape)
        self.assertEqual(result.tobytes(), bytes(y.values))

    def test_default_policies_and_errors(self) -> None:
        x, y = random_tensor((1, 5, 3), 2, "float32"), Tensor((1, 5, 3), dtype="float32")
        call("slicing_sort", None, None, x, y, None, None)
        self.assertEqual(self.run_model("SlicingSort", [x], [TensorProto.FLOAT, TensorProto.INT32])[0].tobytes(), bytes(y.values))
        with self.assertRaisesRegex(Exception, "order \"up\" is none of ascending"):
            self.run_model("SlicingSort", [x], [TensorProto.FLOAT, TensorProto.INT32], order="up")
