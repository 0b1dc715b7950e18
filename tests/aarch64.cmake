# SPDX-License-Identifier: Apache-2.0
# Builds for aarch64, and runs the programs under QEMU:
# CMAKE_TOOLCHAIN_FILE=tests/aarch64.cmake tests/run --host-only --compiler aarch64-linux-gnu-g++
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_DISABLE_FIND_PACKAGE_BLAS ON) # the installed BLAS is for this machine
