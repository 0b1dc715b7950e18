// SPDX-License-Identifier: Apache-2.0
// Settings of a training run, from the flags of a call.
#pragma once

#include "learning/flags.hpp"
#include "learning/trainer.hpp"
#include "models/catalog.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace learning {

struct settings {
  std::string task = "adding", model = "chord";
  std::string checkpoint, journal;  ///< files; empty: none
  index_t log_every = 100, test_every = 0, save_every = 0;
  double minutes = 0;  ///< of training in this call; 0: any
  bool dry = false;
  training_rules rules{};
  model_request request{};

  /// Adds the flags. They write to this object when the app reads a call.
  explicit settings(CLI::App& app) : app_(app) {
    app.add_option("--task", task, "the task, by its name");
    app.add_option("--model", model, "the model, by its mixer's name");
    app.add_option("--checkpoint", checkpoint, "the file to go on from and to write to");
    app.add_option("--journal", journal, "the file for a line of JSON for each event");
    add_whole(app, "log-every", log_every, 1, INT64_MAX);
    add_whole(app, "test-every", test_every, 0, INT64_MAX);
    add_whole(app, "save-every", save_every, 0, INT64_MAX);
    add_number(app, "minutes", minutes);
    app.add_flag("--dry-run", dry, "says the size and trains nothing");
    add_rules();
    add_request();
    app.callback([this] {
      rules.rate.steps = static_cast<double>(rules.steps);
      request.seed = rules.seed;
      if (app_.count("--hidden") == 0) request.encoder.hidden = 2 * request.encoder.width;
    });
  }
  settings(settings const&) = delete;

  /// A model of the catalog for a task's samples.
  std::unique_ptr<learning::model<float>> make_model(sample_shape input) const {
    catalog const models = all_models();
    auto const found = models.find(model);
    if (found == models.end())
      throw usage_error("there is no model '" + model + "'; there are " +
                        nearest_first(model, models));
    model_request r = request;
    r.input = input;
    return found->second.make(r);
  }
  /// The flags that two runs must have in common for one to go on from the other: all that change
  /// a number of a model.
  std::string identity() const {
    return flags_without({"checkpoint", "journal", "log-every", "test-every", "save-every",
                          "minutes", "threads", "dry-run", "data", "test-samples"},
                         app_);
  }

 private:
  void add_rules() {
    rules.seed = 1, rules.threads = std::max(1u, std::thread::hardware_concurrency());
    add_whole(app_, "batch", rules.batch, 1, 65536);
    add_whole(app_, "steps", rules.steps, 1, INT64_MAX);
    add_whole(app_, "seed", rules.seed, 0, UINT64_MAX);
    add_whole(app_, "threads", rules.threads, 1, 4096);
    add_number(app_, "rate", rules.rate.rate);
    add_number(app_, "warmup", rules.rate.warmup);
    add_choice(app_, "schedule", rules.rate.shape,
               {{"constant", schedule::form::constant},
                {"rsqrt", schedule::form::rsqrt},
                {"cosine", schedule::form::cosine},
                {"linear", schedule::form::linear}});
    add_fraction(app_, "beta1", rules.update.beta1);
    add_fraction(app_, "beta2", rules.update.beta2);
    add_number(app_, "epsilon", rules.update.epsilon);
    add_number(app_, "weight-decay", rules.update.decay);
    add_number(app_, "clip", rules.update.clip);
  }
  void add_request() {
    encoder_config& e = request.encoder;
    e.rules.hidden = activation::gelu;
    add_whole(app_, "width", e.width, 1);
    add_whole(app_, "layers", e.layers, 1, 1000);
    add_whole(app_, "hidden", e.hidden, 1);
    add_whole(app_, "head-hidden", e.head_hidden);
    add_choice(app_, "positions", e.with,
               {{"none", positions::none},
                {"sinusoid", positions::sinusoid},
                {"learned", positions::learned}});
    add_choice(app_, "pool", e.pooled,
               {{"cls", pooling::cls},
                {"mean", pooling::mean},
                {"max", pooling::max},
                {"flatten", pooling::flatten}});
    add_choice(app_, "mask-padding", e.masks_padding, {{"0", false}, {"1", true}});
    add_choice(
        app_, "initial", e.rules.weights,
        {{"xavier", initial::xavier}, {"torch", initial::torch}, {"normal", initial::normal}});
    add_choice(app_, "activation", e.rules.hidden,
               {{"gelu", activation::gelu},
                {"gelu-tanh", activation::gelu_tanh},
                {"relu", activation::relu}});
    add_number(app_, "norm-epsilon", e.rules.norm_epsilon);
    add_fraction(app_, "dropout", e.rules.dropout);
    add_number(app_, "token-deviation", e.rules.token_deviation);
    add_number(app_, "position-deviation", e.rules.position_deviation);
    add_fraction(app_, "attention-dropout", request.attention_dropout);
    add_choice(app_, "block", request.block,
               {{"pre_norm", "pre_norm"}, {"post_norm", "post_norm"}, {"bare", "bare"}});
    add_whole(app_, "heads", request.heads, 1);
    for (auto const& [name, value] : {std::pair("inner", &request.inner),
                                      {"group", &request.group},
                                      {"reach", &request.reach},
                                      {"mixer-hidden", &request.mixer_hidden}})
      add_whole(app_, name, *value);
    add_whole(app_, "factors", request.factors, 0, 64);
    for (auto const& [name, value] :
         {std::pair("input-bias", &request.inputs), {"out-bias", &request.out}})
      add_choice(app_, name, *value, {{"0", bias::none}, {"1", bias::learned}});
  }

  CLI::App& app_;
};

}  // namespace learning
