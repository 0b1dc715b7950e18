// SPDX-License-Identifier: Apache-2.0
// What the flags of a call say, read once.
#pragma once

#include "learning/flags.hpp"
#include "learning/trainer.hpp"
#include "models/catalog.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace learning {

struct settings {
  std::string task, model;
  std::string checkpoint, journal;  ///< files; empty: none
  index_t log_every, test_every, save_every;
  double minutes;  ///< of training in this call; 0: any
  bool dry;
  training_rules rules{};
  model_request request{};

  explicit settings(flags const& f)
      : task(f.text("task", "adding")),
        model(f.text("model", "chord")),
        checkpoint(f.text("checkpoint", "")),
        journal(f.text("journal", "")),
        log_every(f.whole<index_t>("log-every", 100, 1, INT64_MAX)),
        test_every(f.whole<index_t>("test-every", 0, 0, INT64_MAX)),
        save_every(f.whole<index_t>("save-every", 0, 0, INT64_MAX)),
        minutes(f.number("minutes", 0)),
        dry(f.has("dry-run")),
        identity_(f.without(without_influence())) {
    read_rules(f);
    read_request(f);
  }

  /// A model of the catalog for a task's samples.
  std::unique_ptr<learning::model<float>> make_model(sample_shape input) const {
    catalog const all = all_models();
    auto const found = all.find(model);
    if (found == all.end()) {
      std::vector<std::string> names;
      for (auto const& [name, entry] : all) names.push_back(name);
      throw usage_error("there is no model '" + model + "'; there are " +
                        nearest_first(model, names));
    }
    model_request r = request;
    r.input = input;
    return found->second.make(r);
  }
  /// What two runs must have in common for one to go on from the other.
  std::string const& identity() const { return identity_; }

 private:
  // Of these flags no number of a model depends.
  static std::set<std::string> without_influence() {
    return {"checkpoint", "journal", "log-every", "test-every", "save-every",
            "minutes",    "threads", "dry-run",   "data",       "test-samples"};
  }
  void read_rules(flags const& f) {
    rules.batch = f.whole<index_t>("batch", 32, 1, 65536);
    rules.steps = f.whole<index_t>("steps", 1000, 1, INT64_MAX);
    rules.seed = f.whole<std::uint64_t>("seed", 1, 0, UINT64_MAX);
    rules.threads =
        f.whole<unsigned>("threads", std::max(1u, std::thread::hardware_concurrency()), 1, 4096);
    rules.rate.rate = f.number("rate", 1e-3);
    rules.rate.warmup = f.number("warmup", 1);
    rules.rate.steps = static_cast<double>(rules.steps);
    rules.rate.shape = f.choice<schedule::form>("schedule",
                                                {{"constant", schedule::form::constant},
                                                 {"rsqrt", schedule::form::rsqrt},
                                                 {"cosine", schedule::form::cosine},
                                                 {"linear", schedule::form::linear}},
                                                schedule::form::constant);
    rules.update.beta1 = f.fraction("beta1", 0.9);
    rules.update.beta2 = f.fraction("beta2", 0.999);
    rules.update.epsilon = f.number("epsilon", 1e-8);
    rules.update.decay = f.number("weight-decay", 0);
    rules.update.clip = f.number("clip", 0);
  }
  void read_request(flags const& f) {
    encoder_config& e = request.encoder;
    e.width = f.whole<index_t>("width", 64, 1), e.layers = f.whole<index_t>("layers", 2, 1, 1000);
    e.hidden = f.whole<index_t>("hidden", 2 * e.width, 1);
    e.head_hidden = f.whole<index_t>("head-hidden", 0);
    e.with = f.choice<positions>("positions",
                                 {{"none", positions::none},
                                  {"sinusoid", positions::sinusoid},
                                  {"learned", positions::learned}},
                                 positions::learned);
    e.pooled = f.choice<pooling>("pool",
                                 {{"cls", pooling::cls},
                                  {"mean", pooling::mean},
                                  {"max", pooling::max},
                                  {"flatten", pooling::flatten}},
                                 pooling::mean);
    e.masks_padding = f.whole<int>("mask-padding", 1) != 0;
    e.rules.weights = f.choice<initial>(
        "initial",
        {{"xavier", initial::xavier}, {"torch", initial::torch}, {"normal", initial::normal}},
        initial::xavier);
    e.rules.hidden = f.choice<activation>("activation",
                                          {{"gelu", activation::gelu},
                                           {"gelu-tanh", activation::gelu_tanh},
                                           {"relu", activation::relu}},
                                          activation::gelu);
    e.rules.norm_epsilon = f.number("norm-epsilon", 1e-6);
    e.rules.dropout = f.fraction("dropout", 0);
    e.rules.token_deviation = f.number("token-deviation", 1);
    e.rules.position_deviation = f.number("position-deviation", 0.02);
    request.attention_dropout = f.fraction("attention-dropout", 0);
    request.block = f.choice<char const*>(
        "block", {{"pre_norm", "pre_norm"}, {"post_norm", "post_norm"}, {"bare", "bare"}},
        "pre_norm");
    request.heads = f.whole<index_t>("heads", 1, 1);
    request.inner = f.whole<index_t>("inner", 0), request.group = f.whole<index_t>("group", 2);
    request.reach = f.whole<index_t>("reach", 0);
    request.mixer_hidden = f.whole<index_t>("mixer-hidden", 0);
    request.factors = f.whole<index_t>("factors", 0, 0, 64);
    request.inputs = f.whole<int>("input-bias", 0) != 0 ? bias::learned : bias::none;
    request.out = f.whole<int>("out-bias", 0) != 0 ? bias::learned : bias::none;
    request.seed = rules.seed;
  }

  std::string identity_;
};

}  // namespace learning
