# SPDX-License-Identifier: Apache-2.0
# Adds a CUDA program to the including project.
set(CMAKE_CUDA_ARCHITECTURES 90-virtual)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
add_executable(consumer_cuda ../main.cu)
target_link_libraries(consumer_cuda PRIVATE slicesort::cuda)
target_compile_options(consumer_cuda PRIVATE -Werror=all-warnings)
