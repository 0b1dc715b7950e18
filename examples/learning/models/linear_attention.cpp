// SPDX-License-Identifier: Apache-2.0
// Transformers with linear attention. A name that ends in a repository has the settings of its code
// (google: the Long Range Arena), as far as the operator has them; docs/learning lists the rest.
#include "learning/mixers/linear_attention.hpp"

#include "models/catalog.hpp"

namespace learning {

void add_linear_attention(catalog& models) {
  using namespace mixers;
  namespace feature = ss::feature;
  auto const add_performer = [&](std::string const& name, std::string description, index_t rows,
                                 double eps) {
    using mixer = linear_attention<feature::random_exp>;
    add_multi_head<mixer>(models, name, std::move(description),
                          [rows, eps](auto& config, model_request const& r) {
                            config.feature.eps = eps, config.divisor.eps = 0;
                            config.rows = number_or(r.rank, rows), config.seed = r.seed;
                          });
  };
  add_multi_head<linear_attention<>>(models, "linear-transformer", "Linear Transformer");
  add_performer("performer", "Performer, D ln D features", 0, 1e-6);
  add_performer("performer-nystromformer", "Performer, 256 features", 256, 1e-6);
  add_performer("performer-google-listops", "Performer, 2 features", 2, 1e-6);
  add_performer("performer-lucidrains", "Performer, D ln D features, eps 1e-4", 0, 1e-4);
  add_multi_head<linear_attention<feature::relu>>(
      models, "performer-google", "Performer, features relu(x) + 1e-3",
      [](auto& config, auto&) { config.feature.eps = 1e-3, config.divisor.eps = 0; });
  add_multi_head<linear_attention<feature::cosine_reweighted, ss::divisor::at_least>>(
      models, "cosformer", "cosFormer");
  add_multi_head<linear_attention<feature::random_fourier>>(
      models, "rfa", "Random Feature Attention, scale 0.1, 1 added to divisors",
      [](auto& config, model_request const& r) {
        config.feature.scale = 0.1, config.divisor.eps = 1;
        config.form = ss::row_form::gaussian;
        config.rows = number_or(r.rank, 64), config.seed = r.seed;
      });
}

}  // namespace learning
