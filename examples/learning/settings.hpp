// SPDX-License-Identifier: Apache-2.0
// Settings of a training run, from command line flags.
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
  std::string checkpoint, run_log, probe;  ///< files; empty: none
  index_t log_every = 100, test_every = 0, save_every = 0;
  index_t shifts = 0;  ///< rows of a sample whose shifts are printed; 0: train
  double minutes = 0;  ///< limit of training in this call; 0: none
  bool dry_run = false;
  training_config training{};
  model_request request{};

  /// Adds the flags, which write to this object when the app parses a command line.
  explicit settings(CLI::App& app) : app_(app) {
    app.add_option("--task", task, "name of the task");
    app.add_option("--model", model, "name of the model's mixer");
    app.add_option("--checkpoint", checkpoint, "file to resume from and to write to");
    app.add_option("--run-log,--journal", run_log,
                   "file for events as JSON lines (--journal is deprecated)");
    app.add_option("--probe", probe,
                   "write the rows between the layers of a test batch to this file; train nothing");
    add_integer(app, "shifts", shifts, 0, index_t{1} << 40);
    add_integer(app, "log-every", log_every, 1, INT64_MAX);
    add_integer(app, "test-every", test_every, 0, INT64_MAX);
    add_integer(app, "save-every", save_every, 0, INT64_MAX);
    add_number(app, "minutes", minutes);
    app.add_flag("--dry-run", dry_run, "print the size and train nothing");
    add_training();
    add_request();
    app.callback([this] {
      training.rate.steps = static_cast<double>(training.steps);
      request.seed = training.seed;
      if (!probe.empty()) training.micro_batch = 0;  // saves the rows of a whole batch
      if (app_.count("--hidden") == 0) request.encoder.hidden = 2 * request.encoder.width;
    });
  }
  settings(settings const&) = delete;

  /// Creates the model for a task's samples.
  std::unique_ptr<learning::model<float>> make_model(sample_shape input) const {
    catalog const models = all_models();
    auto const found = models.find(model);
    if (found == models.end())
      throw usage_error("there is no model '" + model + "'; there are " +
                        list_nearest(model, models));
    model_request with_input = request;
    with_input.input = input;
    return found->second.make(with_input);
  }
  /// The flags that affect results. A run resumes only from a checkpoint with the same flags.
  std::string identity() const {
    return flags_without(
        {"checkpoint", "run-log", "log-every", "test-every", "save-every", "minutes", "threads",
         "dry-run", "data", "test-samples", "probe", "shifts"},
        app_);
  }

 private:
  void add_training() {
    training.seed = 1, training.threads = std::max(1u, std::thread::hardware_concurrency());
    add_integer(app_, "batch", training.batch, 1, 65536);
    add_integer(app_, "micro-batch", training.micro_batch, 0, 65536);
    add_integer(app_, "steps", training.steps, 1, INT64_MAX);
    add_integer(app_, "seed", training.seed, 0, UINT64_MAX);
    add_integer(app_, "threads", training.threads, 1, 4096);
    add_number(app_, "rate", training.rate.rate);
    add_number(app_, "warmup", training.rate.warmup);
    add_choice(app_, "schedule", training.rate.type,
               {{"constant", schedule::kind::constant},
                {"rsqrt", schedule::kind::rsqrt},
                {"cosine", schedule::kind::cosine},
                {"linear", schedule::kind::linear}});
    add_fraction(app_, "beta1", training.update.beta1);
    add_fraction(app_, "beta2", training.update.beta2);
    add_number(app_, "epsilon", training.update.epsilon);
    add_number(app_, "weight-decay", training.update.decay);
    add_number(app_, "clip", training.update.clip);
  }
  void add_request() {
    encoder_config& config = request.encoder;
    config.rules.hidden = activation::gelu;
    add_integer(app_, "width", config.width, 1);
    add_integer(app_, "layers", config.layers, 1, 1000);
    add_integer(app_, "hidden", config.hidden, 1);
    add_integer(app_, "head-hidden", config.head_hidden);
    add_choice(app_, "positions", config.position_kind,
               {{"none", positions::none},
                {"sinusoid", positions::sinusoid},
                {"learned", positions::learned}});
    add_choice(app_, "pool", config.pool_kind,
               {{"cls", pooling::cls},
                {"mean", pooling::mean},
                {"max", pooling::max},
                {"flatten", pooling::flatten}});
    add_choice(app_, "mask-padding", config.masks_padding, {{"0", false}, {"1", true}});
    add_choice(
        app_, "initial", config.rules.weights,
        {{"xavier", initial::xavier}, {"torch", initial::torch}, {"normal", initial::normal}});
    add_choice(app_, "activation", config.rules.hidden,
               {{"gelu", activation::gelu},
                {"gelu-tanh", activation::gelu_tanh},
                {"relu", activation::relu},
                {"silu", activation::silu}});
    add_number(app_, "norm-epsilon", config.rules.norm_epsilon);
    add_fraction(app_, "dropout", config.rules.dropout);
    add_number(app_, "token-deviation", config.rules.token_deviation);
    add_number(app_, "position-deviation", config.rules.position_deviation);
    add_fraction(app_, "attention-dropout", request.attention_dropout);
    add_choice(app_, "block", request.block,
               {{"pre_norm", block_kind::pre_norm},
                {"post_norm", block_kind::post_norm},
                {"gated", block_kind::gated},
                {"bare", block_kind::bare}});
    add_integer(app_, "heads", request.heads, 1);
    for (auto const& [name, value] : {std::pair("inner", &request.inner),
                                      {"group", &request.group},
                                      {"reach", &request.reach},
                                      {"rank", &request.rank},
                                      {"rounds", &request.rounds},
                                      {"mixer-hidden", &request.mixer_hidden}})
      add_integer(app_, name, *value);
    add_integer(app_, "factors", request.factors, 0, 64);
    for (auto const& [name, value] :
         {std::pair("input-bias", &request.inputs), {"out-bias", &request.out}})
      add_choice(app_, name, *value, {{"0", bias::none}, {"1", bias::learned}});
  }

  CLI::App& app_;
};

}  // namespace learning
