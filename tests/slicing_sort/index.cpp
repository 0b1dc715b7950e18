// SPDX-License-Identifier: Apache-2.0
// slicing_sort with offsets beyond 2^31 and 2^32 elements. Views use reserved address space, where
// only touched pages take memory. A GPU would need all of that memory; tests/cuda/test_large.cpp
// tests it.
#include "check.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#if defined(__linux__)
#  include <sys/mman.h>
#endif

using namespace support;

namespace {

// Address space that takes no memory until it is used. data() is null if it cannot be reserved.
class reserved_space {
 public:
  explicit reserved_space(std::size_t bytes) : bytes_(bytes) {
#if defined(__linux__) && !SLICESORT_TEST_TSAN
    void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) data_ = p;
#endif
  }
  reserved_space(reserved_space const&) = delete;
  reserved_space& operator=(reserved_space const&) = delete;
  ~reserved_space() {
#if defined(__linux__)
    if (data_ != nullptr) ::munmap(data_, bytes_);
#endif
  }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

template <class T>
void copy_to(tensor3<T> to, tensor<T> const& from) {
  for_each_position(from.extents(),
                    [&](index_t b, index_t n, index_t c) { to(b, n, c) = from(b, n, c); });
}
template <class T>
tensor<T> copy_of(tensor3<T> from) {
  tensor<T> t(from.extents());
  for_each_position(from.extents(),
                    [&](index_t b, index_t n, index_t c) { t(b, n, c) = from(b, n, c); });
  return t;
}

// Calls f(policy) for backends that do not copy the tensors.
template <class F>
void for_each_backend_without_copies(std::uint64_t seed, F const& f) {
  if (testing(backend_kind::host))
    for (ss::isa set : available_isas()) f(any_exec(ss::exec::host{1, set}));
  if (testing(backend_kind::blocks)) f(any_exec(select_block_exec(seed)));
}

template <class T, class Index>
void check_distant_elements(extents3 e, strides3 s) {
  index_t const span =
      (e.batch - 1) * s.batch + (e.length - 1) * s.length + (e.channels - 1) * s.channels + 1;
  REQUIRE(span > (index_t{1} << 32));  // otherwise the test would be trivial
  auto const count = static_cast<std::size_t>(span);
  reserved_space const input(count * sizeof(T)), output(count * sizeof(T)),
      saved(count * sizeof(Index));
  REQUIRE((input.data() != nullptr && output.data() != nullptr && saved.data() != nullptr));
  tensor3<T> const x(static_cast<T*>(input.data()), e, s), y(static_cast<T*>(output.data()), e, s);
  tensor3<Index> const perm(static_cast<Index*>(saved.data()), e, s);
  auto const p = make_mixed_problem<T>(e, all_kinds, 21, irregular);
  ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
  for_each_backend_without_copies(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
    copy_to(x, p.x);
    op.forward(exec, x, y, {perm}, scratch.get());
    CHECK(difference("y", copy_of(y), p.y) == "");
    CHECK(difference("perm", copy_of(perm), p.perm) == "");
    copy_to(x, p.dy);
    op.backward(exec, x, {perm}, y, scratch.get());
    CHECK(difference("dx", copy_of(y), p.dx) == "");
    op.backward(exec, x, {perm}, x, scratch.get());
    CHECK(difference("dx in place", copy_of(x), p.dx) == "");
  });
}

constexpr index_t two_31 = index_t{1} << 31;

// True if this system or sanitizer reserves 64 GiB, more than any of the cases.
bool reserves_space() { return reserved_space(std::size_t{1} << 36).data() != nullptr; }

}  // namespace

TEST_CASE("samples more than 2^32 elements apart" * doctest::skip(!reserves_space())) {
  check_distant_elements<float, std::uint16_t>({3, 20, 3}, {two_31 + 5, 3, 1});
  check_distant_elements<float16, std::uint32_t>({2, 7, 33}, {2 * two_31 + 1, 33, 1});
}

TEST_CASE("rows more than 2^31 elements apart" * doctest::skip(!reserves_space())) {
  check_distant_elements<float16, std::uint16_t>({1, 5, 34}, {1, two_31 + 7, 1});
}

TEST_CASE("channels more than 2^31 elements apart" * doctest::skip(!reserves_space())) {
  check_distant_elements<float16, std::uint16_t>({1, 40, 4}, {40, 1, two_31 + 64});
}

TEST_CASE("offsets use 64-bit arithmetic") {
  constexpr index_t far = (index_t{1} << 40) + 3;
  constexpr tensor3<float> v(nullptr, {far, far, far}, {far, 2 * far, 3});
  static_assert(v.offset(5, 0, 0) == 5 * far, "batch");
  static_assert(v.offset(0, 70000, 0) == 140000 * far, "length");
  static_assert(v.offset(0, 0, far) == 3 * far, "channels");
  static_assert(v.offset(2, 3, 4) == 8 * far + 12, "all");
  static_assert(extents3{1 << 20, 1 << 20, 1 << 20}.size() == index_t{1} << 60, "size");
  static_assert(row_major(extents3{2, 1 << 30, 1 << 10}) == strides3{index_t{1} << 40, 1 << 10, 1},
                "row_major");
  CHECK(v.offset(1, 1, 1) == 3 * far + 3);
}
