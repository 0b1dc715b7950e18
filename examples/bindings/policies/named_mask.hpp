// SPDX-License-Identifier: Apache-2.0
// Masks chosen at run time. One type represents all of them, so that attention is compiled once.
#pragma once

#include "named_order.hpp"

#include <slicesort/policies/mask.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bindings {

// A mask of `slicesort/policies/mask.hpp` by name, for a call with `keys` keys and one head.
class single_mask {
  enum class kind {
    full,
    causal,
    window,
    block_local,
    strided,
    fixed,
    dilated_window,
    global_window,
    chunk_back,
    bigbird,
    globals
  };

  // Calls f with the library's mask. Kernels pass a device function, `validate` a host function.
#ifdef __CUDACC__
#  pragma nv_exec_check_disable
#endif
  template <class F>
  BINDINGS_HD auto visit(F const& f) const {
    switch (kind_) {
      case kind::causal:
        return f(ss::mask::causal{a_});
      case kind::window:
        return f(ss::mask::window{a_, b_});
      case kind::block_local:
        return f(ss::mask::block_local{a_});
      case kind::strided:
        return f(ss::mask::strided{a_, b_});
      case kind::fixed:
        return f(ss::mask::fixed{a_, b_, c_ != 0});
      case kind::dilated_window:
        return f(ss::mask::dilated_window{a_, b_, c_});
      case kind::global_window:
        return f(ss::mask::either<ss::mask::window, ss::mask::globals>{{a_, b_}, {c_}});
      case kind::chunk_back:
        return f(ss::mask::chunk_back{a_, b_ != 0, keys_});
      case kind::bigbird:
        return f(
            ss::mask::bigbird{a_, b_, c_, d_, seed_, ss::mask::bigbird::unlimited, keys_, head_});
      case kind::globals:
        return f(ss::mask::globals{a_});
      default:
        return f(ss::mask::full{});
    }
  }

 public:
  single_mask() = default;
  single_mask(std::string const& text, index_t keys) : keys_(keys) {
    policy const parsed("mask", text,
                        {{"full"},
                         {"causal", 0, 1, "causal{offset}"},
                         {"window", 2, 2, "window{left, right}"},
                         {"block_local", 1, 1, "block_local{size}"},
                         {"strided", 1, 2, "strided{stride, near_by}"},
                         {"fixed", 2, 3, "fixed{block, tail, first_column}"},
                         {"dilated_window", 3, 3, "dilated_window{left, right, step}"},
                         {"global_window", 2, 3, "global_window{left, right, globals}"},
                         {"chunk_back", 1, 2, "chunk_back{size, circular}"},
                         {"bigbird", 0, 5, "bigbird{block, window, ends, random, seed}"},
                         {"globals", 0, 1, "globals{count}"},
                         {"both", 1, 0, "both{a, b}"},
                         {"either", 1, 0, "either{a, b}"}});
    kind_ = static_cast<kind>(parsed.alternative());
    bool const bigbird = kind_ == kind::bigbird;
    ss::mask::bigbird const defaults{};
    a_ = parsed.integer(0, bigbird ? defaults.block : kind_ == kind::globals ? 1 : 0);
    b_ = parsed.integer(1, bigbird ? defaults.window : 0);
    c_ = parsed.integer(2, bigbird ? defaults.ends : kind_ == kind::global_window ? 1 : 0);
    d_ = parsed.integer(3, defaults.random);
    seed_ = parsed.bits(4);
  }

  BINDINGS_HD void select_head(index_t head) { head_ = head; }
  BINDINGS_HD ss::key_range range(index_t query, index_t keys) const {
    return visit(
        [&](auto const& mask) { return ss::detail::clamped_key_range(mask, query, keys); });
  }
  // True if the key is in the range and allowed.
  BINDINGS_HD bool sees(index_t query, index_t key) const {
    return visit([&](auto const& mask) { return ss::detail::is_visible_pair(mask, query, key); });
  }
  BINDINGS_HD bool meets(ss::detail::pair_range r) const {
    return visit([&](auto const& mask) { return ss::detail::meets_pairs(mask, r); });
  }
  BINDINGS_HD bool covers(ss::detail::pair_range r) const {
    return visit([&](auto const& mask) { return ss::detail::covers_pairs(mask, r); });
  }
  char const* validate(ss::mask_call call) const {
    return visit([&](auto const& mask) { return ss::detail::mask_error(mask, call); });
  }

 private:
  kind kind_ = kind::full;
  index_t a_ = 0, b_ = 0, c_ = 0, d_ = 0;  // parameters in the order of the text
  index_t keys_ = 0, head_ = 0;
  std::uint64_t seed_ = 0;
};

/// Masks that read tensors, which a named mask is combined with.
struct stored_masks {
  std::optional<ss::mask::tensor> allowed;
  std::optional<ss::mask::segments<index_t>> segments;
};

/// A mask by name, `window{8, 8}`, or a combination of up to `max_masks`, such as `both{causal,
/// either{window{8, 8}, globals}}`, for a call with `keys` keys; stored masks further restrict it.
class named_mask {
 public:
  static constexpr int max_masks = 4;

  named_mask(std::string const& text, index_t keys, stored_masks const& stored = {})
      : has_table_(stored.allowed.has_value()), has_segments_(stored.segments.has_value()) {
    parse(text, keys);
    if (has_table_) table_ = *stored.allowed;
    if (has_segments_) segments_ = *stored.segments;
  }

  BINDINGS_HD named_mask for_head(index_t sample, index_t head) const {
    named_mask mask = *this;
    for (single_mask& single : mask.masks_) single.select_head(head);
    if (has_table_) mask.table_ = table_.for_head(sample, head);
    return mask;
  }
  BINDINGS_HD ss::key_range range(index_t query, index_t keys) const {
    ss::key_range const range = combine<ss::key_range>(
        [&](single_mask const& mask) { return mask.range(query, keys); }, intersection, hull);
    return has_segments_ ? intersection(range, segments_.range(query, keys)) : range;
  }
  BINDINGS_HD bool allows(index_t query, index_t key) const {
    return (!has_table_ || table_.allows(query, key)) &&
           combine<bool>([&](single_mask const& mask) { return mask.sees(query, key); },
                         conjunction, disjunction);
  }
  BINDINGS_HD bool meets(index_t first_query, index_t last_query, index_t first_key,
                         index_t last_key) const {
    ss::detail::pair_range const r{first_query, last_query, first_key, last_key};
    return (!has_segments_ || ss::detail::meets_pairs(segments_, r)) &&
           combine<bool>([&](single_mask const& mask) { return mask.meets(r); }, conjunction,
                         disjunction) &&
           (!has_table_ || ss::detail::meets_pairs(table_, r));
  }
  BINDINGS_HD bool covers(index_t first_query, index_t last_query, index_t first_key,
                          index_t last_key) const {
    ss::detail::pair_range const r{first_query, last_query, first_key, last_key};
    return (!has_segments_ || ss::detail::covers_pairs(segments_, r)) &&
           combine<bool>([&](single_mask const& mask) { return mask.covers(r); }, conjunction,
                         disjunction) &&
           (!has_table_ || ss::detail::covers_pairs(table_, r));
  }
  char const* validate(ss::mask_call call) const {
    for (int i = 0; i < count_; ++i)
      if (char const* const error = masks_[i].validate(call)) return error;
    char const* const error = has_table_ ? table_.validate(call) : nullptr;
    return error == nullptr && has_segments_ ? segments_.validate(call.keys) : error;
  }

 private:
  enum class step : unsigned char { push, both, either };  // push: the next mask

  static BINDINGS_HD bool conjunction(bool a, bool b) { return a && b; }
  static BINDINGS_HD bool disjunction(bool a, bool b) { return a || b; }
  static BINDINGS_HD ss::key_range intersection(ss::key_range a, ss::key_range b) {
    return {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
  }
  static BINDINGS_HD ss::key_range hull(ss::key_range a, ss::key_range b) {
    if (a.first >= a.last) return b;
    if (b.first >= b.last) return a;
    return {a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
  }

  // Combines f(mask) of all masks by the steps, which are in postfix order.
#ifdef __CUDACC__
#  pragma nv_exec_check_disable
#endif
  template <class T, class F, class Both, class Either>
  BINDINGS_HD T combine(F const& f, Both const& both, Either const& either) const {
    if (count_ == 1) return f(masks_[0]);
    T stack[max_masks]{};
    int size = 0, next = 0;
    for (int i = 0; i < 2 * count_ - 1; ++i) {
      if (steps_[i] == step::push) {
        stack[size++] = f(masks_[next++]);
      } else {
        --size;
        stack[size - 1] = steps_[i] == step::both ? both(stack[size - 1], stack[size])
                                                  : either(stack[size - 1], stack[size]);
      }
    }
    return stack[0];
  }

  // Appends the steps of a text.
  void parse(std::string const& text, index_t keys) {
    std::size_t const brace = text.find('{');
    std::string const name = trimmed(text.substr(0, brace));
    bool const is_both = name == "both";
    if ((is_both || name == "either") && brace != std::string::npos) {
      std::string const inside = trimmed(text.substr(brace + 1));
      std::vector<std::string> const parts = inside.empty() || inside.back() != '}'
                                                 ? std::vector<std::string>()
                                                 : split(inside.substr(0, inside.size() - 1));
      if (parts.size() < 2) throw_invalid("mask \"" + text + "\": write it as " + name + "{a, b}");
      for (std::size_t i = 0; i < parts.size(); ++i) {
        parse(parts[i], keys);
        if (i > 0) append(is_both ? step::both : step::either);
      }
      return;
    }
    single_mask const mask(text, keys);
    if (count_ == max_masks)
      throw_invalid("a mask combines at most " + std::to_string(max_masks) + " masks");
    masks_[count_++] = mask;
    append(step::push);
  }
  void append(step next) { steps_[step_count_++] = next; }
  // Splits at the commas outside of braces.
  static std::vector<std::string> split(std::string const& list) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (char const c : list) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (c == ',' && depth == 0)
        parts.emplace_back();
      else
        parts.back() += c;
    }
    for (std::string& part : parts) part = trimmed(part);
    return parts;
  }
  static std::string trimmed(std::string const& text) {
    char const* const spaces = " \t\n\v\f\r";
    std::size_t const first = text.find_first_not_of(spaces), last = text.find_last_not_of(spaces);
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
  }

  single_mask masks_[max_masks];
  step steps_[2 * max_masks - 1]{};
  int count_ = 0, step_count_ = 0;
  bool has_table_, has_segments_;
  ss::mask::tensor table_{};
  ss::mask::segments<index_t> segments_{};
};

}  // namespace bindings
