// SPDX-License-Identifier: Apache-2.0
// Paramixer with both of its topologies, and the control without mixing.
#include "learning/mixers/sparse_mix.hpp"
#include "learning/mixers/none.hpp"

#include "models/catalog.hpp"

namespace learning {
namespace {

template <class Topology>
void add(catalog& all, std::string const& name, std::string about,
         std::function<void(Topology&, model_request const&)> set) {
  all[name] = {std::move(about), [set](model_request const& r) {
                 using mixer = mixers::sparse_mix<Topology>;
                 typename mixer::config with;
                 with.hidden = mixer_hidden_of(r), with.factors = r.factors;
                 if (r.reach > 0) set(with.topology, r);
                 return make_encoder<mixer>(r, with);
               }};
}

}  // namespace

void add_sparse_mix(catalog& all) {
  add<ss::topology::chord>(
      all, "chord", "Paramixer, links to rows 0, 1, 2, 4, .. further",
      [](ss::topology::chord& links, model_request const& r) { links.count = r.reach; });
  add<ss::topology::cdil>(
      all, "cdil", "Paramixer, dilated neighbors on both sides",
      [](ss::topology::cdil& links, model_request const& r) { links.half = (r.reach - 1) / 2; });
}
void add_none(catalog& all) {
  all["none"] = {"the control: an MLP of each row, no mixing of rows", [](model_request const& r) {
                   mixers::none<>::config with;
                   with.hidden = mixer_hidden_of(r);
                   return make_encoder<mixers::none<>>(r, with);
                 }};
}

}  // namespace learning
