/* SPDX-License-Identifier: Apache-2.0 */
/* slicing_sort and softmax_attention as custom operators of ONNX Runtime, in the domain "slicesort".
 * Needs onnxruntime_c_api.h of ONNX Runtime 1.17 or newer.
 *
 *   SlicingSort(X) -> Y, perm: float and int32 [batch, length, channels]; the attribute `order`.
 *   SoftmaxAttention(Q, K, V) -> Y: float [batch, heads, length, channels]; the attribute `mask`. */
#include <onnxruntime_c_api.h>
#include <slicesort.h>
#include <stdlib.h>

enum { api_version = 17, max_tensors = 3, task_count = 8 };
static OrtApi const* ort;

/* State of a node: its policy, null for the default. */
struct node {
  char* policy;
};
/* State of a call: the execution of its node, and the first error. */
struct context {
  OrtKernelContext* ort_context;
  OrtStatus* error;
};

/* Runs the tasks of a call on the threads of ONNX Runtime. */
struct task {
  void (*run)(void*, uint32_t);
  void* argument;
};
static void run_task(void* task, size_t i) {
  struct task const* const call = task;
  call->run(call->argument, (uint32_t)i);
}
static void parallel_for(void* pool, uint32_t count, void (*run)(void*, uint32_t), void* argument) {
  struct task task = {run, argument};
  struct context* const context = pool;
  OrtStatus* const error =
      ort->KernelContext_ParallelFor(context->ort_context, run_task, count, 0, &task);
  if (context->error == NULL)
    context->error = error;
  else if (error != NULL)
    ort->ReleaseStatus(error);
}

/* Returns an error of ONNX Runtime for a failed call. */
static OrtStatus* status_of(struct context const* context, slicesort_status status) {
  if (status == SLICESORT_OK) return context->error;
  if (context->error != NULL) ort->ReleaseStatus(context->error);
  return ort->CreateStatus(
      status == SLICESORT_INVALID_ARGUMENT ? ORT_INVALID_ARGUMENT : ORT_RUNTIME_EXCEPTION,
      slicesort_last_error());
}

/* Sets the dense strides of a view. */
static void set_dense(slicesort_tensor* view) {
  int64_t stride = 1;
  for (int32_t axis = view->rank; axis-- > 0; stride *= view->shape[axis])
    view->strides[axis] = stride;
}
static OrtStatus* input_view(OrtKernelContext* context, size_t i, slicesort_tensor* view) {
  OrtValue const* value = NULL;
  OrtTensorTypeAndShapeInfo* info = NULL;
  size_t rank = 0;
  OrtStatus* error = ort->KernelContext_GetInput(context, i, &value);
  if (error == NULL) error = ort->GetTensorTypeAndShape(value, &info);
  if (error == NULL) error = ort->GetDimensionsCount(info, &rank);
  if (error == NULL && rank > 4)
    error = ort->CreateStatus(ORT_INVALID_ARGUMENT, "slicesort: an input has more than 4 axes");
  if (error == NULL) error = ort->GetDimensions(info, view->shape, rank);
  if (error == NULL) error = ort->GetTensorMutableData((OrtValue*)value, &view->data);
  if (info != NULL) ort->ReleaseTensorTypeAndShapeInfo(info);
  if (error != NULL) return error;
  view->dtype = SLICESORT_FLOAT32;
  view->rank = (int32_t)rank;
  set_dense(view);
  return NULL;
}
/* Allocates an output of the shape of `like` with `channels` channels. */
static OrtStatus* output_view(OrtKernelContext* context, size_t i, slicesort_tensor const* like,
                              int64_t channels, int32_t dtype, slicesort_tensor* view) {
  OrtValue* value = NULL;
  *view = *like;
  view->dtype = dtype;
  if (view->rank > 0) view->shape[view->rank - 1] = channels;
  set_dense(view);
  OrtStatus* error =
      ort->KernelContext_GetOutput(context, i, view->shape, (size_t)view->rank, &value);
  if (error == NULL) error = ort->GetTensorMutableData(value, &view->data);
  return error;
}

static OrtStatus* ORT_API_CALL compute_slicing_sort(void* kernel, OrtKernelContext* ort_context) {
  struct node const* const node = kernel;
  slicesort_tensor x = {0}, y, perm;
  OrtStatus* error = input_view(ort_context, 0, &x);
  if (error != NULL) return error;
  int64_t const channels = x.rank > 0 ? x.shape[x.rank - 1] : 0;
  error = output_view(ort_context, 0, &x, channels, SLICESORT_FLOAT32, &y);
  if (error == NULL) error = output_view(ort_context, 1, &x, channels, SLICESORT_INT32, &perm);
  if (error != NULL) return error;
  struct context context = {ort_context, NULL};
  slicesort_call const call = {
      .threads = task_count, .parallel_for = parallel_for, .pool = &context};
  return status_of(&context, slicesort_slicing_sort(&call, node->policy, &x, &y, &perm, NULL));
}
static OrtStatus* ORT_API_CALL compute_softmax_attention(void* kernel,
                                                         OrtKernelContext* ort_context) {
  struct node const* const node = kernel;
  slicesort_tensor inputs[max_tensors] = {{0}}, y;
  OrtStatus* error = NULL;
  for (size_t i = 0; i < max_tensors && error == NULL; ++i)
    error = input_view(ort_context, i, &inputs[i]);
  if (error == NULL)
    error = output_view(ort_context, 0, &inputs[0],
                        inputs[2].rank > 0 ? inputs[2].shape[inputs[2].rank - 1] : 0,
                        SLICESORT_FLOAT32, &y);
  if (error != NULL) return error;
  struct context context = {ort_context, NULL};
  slicesort_call const call = {
      .threads = task_count, .parallel_for = parallel_for, .pool = &context};
  slicesort_softmax_attention_options const options = {.pairs = {.mask = node->policy}};
  return status_of(&context, slicesort_softmax_attention(&call, &options, &inputs[0], &inputs[1],
                                                         &inputs[2], &y, NULL));
}

/* Reads the string attribute `name`, which may be missing. */
static OrtStatus* create_node(OrtKernelInfo const* info, char const* name, void** kernel) {
  size_t length = 0;
  struct node* const node = calloc(1, sizeof *node);
  OrtStatus* const missing = ort->KernelInfoGetAttribute_string(info, name, NULL, &length);
  OrtStatus* error = NULL;
  if (missing != NULL) {
    ort->ReleaseStatus(missing);
  } else if (node != NULL) {
    node->policy = calloc(length + 1, 1);
    if (node->policy != NULL)
      error = ort->KernelInfoGetAttribute_string(info, name, node->policy, &length);
  }
  *kernel = node;
  if (node == NULL || (missing == NULL && node->policy == NULL))
    error = ort->CreateStatus(ORT_FAIL, "slicesort: no memory for a node");
  return error;
}
static OrtStatus* ORT_API_CALL create_slicing_sort(OrtCustomOp const* op, OrtApi const* api,
                                                   OrtKernelInfo const* info, void** kernel) {
  (void)op, (void)api;
  return create_node(info, "order", kernel);
}
static OrtStatus* ORT_API_CALL create_softmax_attention(OrtCustomOp const* op, OrtApi const* api,
                                                        OrtKernelInfo const* info, void** kernel) {
  (void)op, (void)api;
  return create_node(info, "mask", kernel);
}
static void ORT_API_CALL destroy_node(void* kernel) {
  struct node* const node = kernel;
  if (node != NULL) free(node->policy);
  free(node);
}

static char const* ORT_API_CALL name_of_slicing_sort(OrtCustomOp const* op) {
  (void)op;
  return "SlicingSort";
}
static char const* ORT_API_CALL name_of_softmax_attention(OrtCustomOp const* op) {
  (void)op;
  return "SoftmaxAttention";
}
static char const* ORT_API_CALL default_provider(OrtCustomOp const* op) {
  (void)op;
  return NULL; /* the CPU */
}
static size_t ORT_API_CALL count_1(OrtCustomOp const* op) {
  (void)op;
  return 1;
}
static size_t ORT_API_CALL count_2(OrtCustomOp const* op) {
  (void)op;
  return 2;
}
static size_t ORT_API_CALL count_3(OrtCustomOp const* op) {
  (void)op;
  return 3;
}
static ONNXTensorElementDataType ORT_API_CALL float_type(OrtCustomOp const* op, size_t i) {
  (void)op, (void)i;
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}
static ONNXTensorElementDataType ORT_API_CALL sort_output_type(OrtCustomOp const* op, size_t i) {
  (void)op;
  return i == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
}
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL is_required(OrtCustomOp const* op,
                                                                     size_t i) {
  (void)op, (void)i;
  return INPUT_OUTPUT_REQUIRED;
}
static OrtMemType ORT_API_CALL default_memory(OrtCustomOp const* op, size_t i) {
  (void)op, (void)i;
  return OrtMemTypeDefault;
}
static int ORT_API_CALL first_version(OrtCustomOp const* op) {
  (void)op;
  return 1;
}
static int ORT_API_CALL last_version(OrtCustomOp const* op) {
  (void)op;
  return 1;
}

#define CUSTOM_OP(op, inputs, outputs, output_type)                                                \
  {                                                                                                \
    .version = api_version, .GetName = name_of_##op, .GetExecutionProviderType = default_provider, \
    .GetInputType = float_type, .GetInputTypeCount = inputs, .GetOutputType = output_type,         \
    .GetOutputTypeCount = outputs, .KernelDestroy = destroy_node,                                  \
    .GetInputCharacteristic = is_required, .GetOutputCharacteristic = is_required,                 \
    .GetInputMemoryType = default_memory, .CreateKernelV2 = create_##op,                           \
    .KernelComputeV2 = compute_##op, .GetStartVersion = first_version,                             \
    .GetEndVersion = last_version                                                                  \
  }
static OrtCustomOp const custom_ops[] = {
    CUSTOM_OP(slicing_sort, count_1, count_2, sort_output_type),
    CUSTOM_OP(softmax_attention, count_3, count_1, float_type)};

/* The entry point that SessionOptions.register_custom_ops_library calls. */
ORT_EXPORT OrtStatus* ORT_API_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                     OrtApiBase const* base) {
  static OrtCustomOpDomain* domain;
  ort = base->GetApi(api_version);
  if (ort == NULL)
    return NULL; /* older than 1.17; the runtime then reports that it knows no such operator */
  OrtStatus* error = NULL;
  if (domain == NULL) {
    error = ort->CreateCustomOpDomain("slicesort", &domain);
    for (size_t i = 0; i < sizeof custom_ops / sizeof custom_ops[0] && error == NULL; ++i)
      error = ort->CustomOpDomain_Add(domain, &custom_ops[i]);
  }
  return error != NULL ? error : ort->AddCustomOpDomain(options, domain);
}
