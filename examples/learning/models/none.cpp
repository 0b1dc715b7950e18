// SPDX-License-Identifier: Apache-2.0
// The control without mixing.
#include "learning/mixers/none.hpp"

#include "models/catalog.hpp"

namespace learning {

void add_none(catalog& all) {
  all["none"] = {"the control: an MLP of each row, no mixing of rows", [](model_request const& r) {
                   mixers::none<>::config with;
                   with.hidden = mixer_hidden_of(r);
                   return make_encoder<mixers::none<>>(r, with);
                 }};
}

}  // namespace learning
