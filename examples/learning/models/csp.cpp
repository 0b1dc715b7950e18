// SPDX-License-Identifier: Apache-2.0
// CSP with every shift, to a reference channel or in ascending order.
#include "learning/mixers/csp.hpp"

#include "models/catalog.hpp"

namespace learning {
namespace {

template <class Shift>
void add(catalog& all, std::string const& shift,
         std::function<void(Shift&, model_request const&)> set = {}) {
  auto const both = [&](auto alignment, std::string const& name) {
    using mixer = mixers::csp<Shift, decltype(alignment)>;
    add_projected<mixer>(all, "csp-" + shift + "-" + name, "CSP, shift " + shift + ", " + name,
                         [set](typename mixer::config& with, model_request const& r) {
                           if (r.group > 0)
                             with.core.groups = ss::group_size{r.group};
                           else
                             with.core.groups = ss::group_count{1};
                           if (set) set(with.core.shift, r);
                         });
  };
  both(ss::reference{}, "reference");
  both(ss::ascending{}, "ascending");
}

}  // namespace

void add_csp(catalog& all) {
  add<ss::shift::none>(all, "none");
  add<ss::shift::linear>(all, "linear");
  add<ss::shift::linear_step>(all, "linear-step");
  add<ss::shift::per_head>(all, "per-head", [](ss::shift::per_head& shift, model_request const& r) {
    shift.heads = r.heads;
  });
  add<ss::shift::modular>(all, "modular");
  add<ss::shift::power>(all, "power");
  add<ss::shift::power_ceil>(all, "power-ceil");
  all["csp"] = all["csp-linear-reference"];
}

}  // namespace learning
