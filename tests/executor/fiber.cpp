// SPDX-License-Identifier: Apache-2.0
// Fibers that switch stacks. ucontext is portable, but makes a system call at every switch to save
// a signal mask that never changes. On x86-64, a switch of a dozen instructions replaces it.
#include "fiber.hpp"

#include "support/sanitizers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__x86_64__) && defined(__ELF__) && !defined(SLICESORT_TEST_UCONTEXT)
#  define SLICESORT_TEST_SWITCH_STACK 1
// Saves the callee-saved registers, switches stacks, restores them: returns on the other stack.
__asm__(R"(
.text
.p2align 4
.type slicesort_test_switch_stack, @function
slicesort_test_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size slicesort_test_switch_stack, .-slicesort_test_switch_stack
)");
extern "C" void slicesort_test_switch_stack(void** from, void* to);
#else
#  define SLICESORT_TEST_SWITCH_STACK 0
#  include <ucontext.h>
#endif

namespace support {

namespace {

constexpr std::size_t stack_bytes = 128 * 1024;  // sanitizers make frames large
std::size_t guard_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

thread_local fiber* current = nullptr;

#if SLICESORT_TEST_SWITCH_STACK
using saved_context = void*;
void switch_context(saved_context& from, saved_context& to) {
  slicesort_test_switch_stack(&from, to);
}
void prepare_context(saved_context& context, unsigned char* stack, void (*function)()) {
  auto const top = reinterpret_cast<std::uintptr_t>(stack + stack_bytes) & ~std::uintptr_t{15};
  auto* sp = reinterpret_cast<void**>(top);
  *--sp = nullptr;  // return address: at a function's entry, sp is 8 bytes off a multiple of 16
  *--sp = reinterpret_cast<void*>(function);
  for (int i = 0; i < 6; ++i) *--sp = nullptr;
  context = sp;
}
#else
using saved_context = ::ucontext_t;
void switch_context(saved_context& from, saved_context& to) { ::swapcontext(&from, &to); }
void prepare_context(saved_context& context, unsigned char* stack, void (*function)()) {
  ::getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = nullptr;
  ::makecontext(&context, function, 0);
}
#endif

}  // namespace

struct fiber::context {
  saved_context inside{}, outside{};
  void const* outer_stack = nullptr;  // for AddressSanitizer
  std::size_t outer_bytes = 0;
};

fiber::fiber() : context_(new context) {
  void* const memory = ::mmap(nullptr, guard_bytes() + stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    delete context_;
    throw std::bad_alloc();
  }
  ::mprotect(memory, guard_bytes(), PROT_NONE);  // catches a stack overflow
  stack_ = static_cast<unsigned char*>(memory) + guard_bytes();
}
fiber::~fiber() {
  unpoison(stack_, stack_bytes);
  ::munmap(stack_ - guard_bytes(), guard_bytes() + stack_bytes);
  delete context_;
}

void fiber::start(entry function, void* argument) {
  unpoison(stack_, stack_bytes);  // frames that never returned
  function_ = function;
  argument_ = argument;
  prepare_context(context_->inside, stack_, &fiber::run_current);
}

void fiber::resume() {
  current = this;
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stack_, stack_bytes);
  switch_context(context_->outside, context_->inside);
  finish_switch(fake_stack, nullptr, nullptr);
}

void fiber::pause() { switch_out(false); }

void fiber::switch_out(bool is_final) {
  void* fake_stack = nullptr;
  start_switch(is_final ? nullptr : &fake_stack, context_->outer_stack, context_->outer_bytes);
  switch_context(context_->inside, context_->outside);
  finish_switch(fake_stack, &context_->outer_stack, &context_->outer_bytes);
}

void fiber::run_current() {
  fiber* const running = current;
  finish_switch(nullptr, &running->context_->outer_stack, &running->context_->outer_bytes);
  running->function_(running->argument_);
  for (;;) running->switch_out(true);
}

}  // namespace support
