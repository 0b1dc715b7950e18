// SPDX-License-Identifier: Apache-2.0
// A fiber: a function with a stack of its own that can stop in the middle and go on later.
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

  // Makes ready to run function(argument), which must not throw. Whatever the fiber was doing
  // before is forgotten: nothing of it is destroyed.
  void start(entry function, void* argument);
  // Runs the fiber until it pauses or its function returns. Not from inside a fiber.
  void resume();
  // From inside the fiber: back to where it was resumed.
  void pause();

 private:
  struct context;
  [[noreturn]] static void run_current();
  void switch_out(bool for_good);

  context* context_;
  unsigned char* stack_;  // lowest address that may be used
  entry function_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace support
