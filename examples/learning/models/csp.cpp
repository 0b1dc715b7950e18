// SPDX-License-Identifier: Apache-2.0
// CSP with every shift, aligned to a reference channel or in ascending order.
#include "learning/mixers/csp.hpp"

#include "models/catalog.hpp"

namespace learning {
namespace {

template <class Shift>
void add(catalog& models, std::string const& shift,
         std::function<void(Shift&, model_request const&)> set = {}) {
  auto const add_alignment = [&](auto alignment, std::string const& name) {
    using mixer = mixers::csp<Shift, decltype(alignment)>;
    add_projected<mixer>(models, "csp-" + shift + "-" + name, "CSP, shift " + shift + ", " + name,
                         [set](typename mixer::config& config, model_request const& r) {
                           if (r.group > 0)
                             config.core.groups = ss::group_size{r.group};
                           else
                             config.core.groups = ss::group_count{1};
                           if (set) set(config.core.shift, r);
                         });
  };
  add_alignment(ss::reference{}, "reference");
  add_alignment(ss::ascending{}, "ascending");
}

}  // namespace

void add_csp(catalog& models) {
  add<ss::shift::none>(models, "none");
  add<ss::shift::linear>(models, "linear");
  add<ss::shift::linear_step>(models, "linear-step");
  add<ss::shift::per_head>(
      models, "per-head",
      [](ss::shift::per_head& shift, model_request const& r) { shift.heads = r.heads; });
  add<ss::shift::modular>(models, "modular");
  add<ss::shift::power>(models, "power");
  add<ss::shift::power_ceil>(models, "power-ceil");
  models["csp"] = models["csp-linear-reference"];
}

}  // namespace learning
