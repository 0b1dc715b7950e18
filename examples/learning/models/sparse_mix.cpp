// SPDX-License-Identifier: Apache-2.0
// Paramixer with its two topologies, and the control without mixing.
#include "learning/mixers/sparse_mix.hpp"
#include "learning/mixers/none.hpp"

#include "models/catalog.hpp"

namespace learning {
namespace {

template <class Topology>
void add(catalog& models, std::string const& name, std::string description,
         std::function<void(Topology&, model_request const&)> set) {
  models[name] = {std::move(description), [set](model_request const& r) {
                    using mixer = mixers::sparse_mix<Topology>;
                    typename mixer::config config;
                    config.hidden = mixer_hidden_of(r), config.factors = r.factors;
                    if (r.reach > 0) set(config.topology, r);
                    return make_encoder<mixer>(r, config);
                  }};
}

}  // namespace

void add_sparse_mix(catalog& models) {
  add<ss::topology::chord>(
      models, "chord", "Paramixer, links to rows 0, 1, 2, 4, .. further",
      [](ss::topology::chord& links, model_request const& r) { links.count = r.reach; });
  add<ss::topology::cdil>(
      models, "cdil", "Paramixer, dilated neighbors on both sides",
      [](ss::topology::cdil& links, model_request const& r) { links.half = (r.reach - 1) / 2; });
}
void add_none(catalog& models) {
  models["none"] = {"control: an MLP per row, no mixing of rows", [](model_request const& r) {
                      mixers::none<>::config config;
                      config.hidden = mixer_hidden_of(r);
                      return make_encoder<mixers::none<>>(r, config);
                    }};
}

}  // namespace learning
