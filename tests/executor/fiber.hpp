// SPDX-License-Identifier: Apache-2.0
// A fiber is a function with its own stack that can pause and resume.
#pragma once

#include <cstddef>

namespace support {

class fiber {
 public:
  using entry = void (*)(void*);

  fiber();
  ~fiber();
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;

  // Prepares to run function(argument), which must not throw. Discards the frames of an unfinished
  // function without running destructors.
  void start(entry function, void* argument);
  // Runs the fiber until it pauses or its function returns. Must not be called from inside a fiber.
  void resume();
  // Returns to the caller of resume(). Must be called from inside the fiber.
  void pause();

 private:
  struct context;
  [[noreturn]] static void run_current();
  void switch_out(bool is_final);

  context* context_;
  unsigned char* stack_;  // lowest usable address
  entry function_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace support
