// SPDX-License-Identifier: Apache-2.0
// Trains a model on a task: `slicesort_train --task adding --model chord --steps 1500 --threads 2`.
// examples/learning/run calls it with the presets of models.json.
#include "learning/checkpoint.hpp"
#include "learning/flags.hpp"
#include "learning/probe.hpp"
#include "learning/progress.hpp"
#include "learning/tasks/baselines.hpp"
#include "learning/tasks/by_name.hpp"
#include "learning/trainer.hpp"
#include "models/catalog.hpp"
#include "models/listing.hpp"
#include "settings.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

namespace {

using namespace learning;
constexpr int succeeded = 0, failed = 1, rejected = 2, out_of_time = 3, interrupted = 130;

// Signal handler: ends training after the current step, and anything else immediately.
volatile std::sig_atomic_t stopped = 0, is_training = 0;
extern "C" void handle_signal(int) {
  if (!is_training) std::_Exit(interrupted);
  stopped = 1;
}

// A run: the model, its trainer, and their files.
class run {
 public:
  run(settings const& config, std::unique_ptr<task> samples)
      : settings_(config),
        task_(std::move(samples)),
        model_(config.make_model(task_->shape())),
        trainer_(*model_, *task_, config.training),
        log_(config.dry_run ? "" : config.run_log),
        progress_(config.training.steps) {}

  void print_size() {
    std::printf(
        "%s on %s: %lld parameters, %.1f MB for them and their moments, %.1f MB for a step\n",
        settings_.model.c_str(), settings_.task.c_str(),
        static_cast<long long>(model_->params().size()),
        static_cast<double>(trainer_.parameter_bytes()) / 1e6,
        static_cast<double>(trainer_.step_bytes()) / 1e6);
    std::fflush(stdout);
  }

  int save_probe() {
    if (std::filesystem::exists(settings_.checkpoint)) load();
    probe(*model_, trainer_, settings_.training.seed).save(settings_.probe);
    return succeeded;
  }
  int train() {
    if (!settings_.checkpoint.empty() && std::filesystem::exists(settings_.checkpoint)) load();
    log_.write(log_entry("start")
                   .add("task", settings_.task)
                   .add("model", settings_.model)
                   .add("parameters", model_->params().size())
                   .add("memory_bytes", memory_bytes())
                   .add("threads", static_cast<index_t>(settings_.training.threads))
                   .add("blas", gemm_name)
                   .add("step", trainer_.step()));
    is_training = 1;
    double const before = trainer_.seconds();
    if (trainer_.step() == trainer_.steps()) test();  // the run ended before the test was logged
    score window;
    double window_start = before;
    char const* reason = stopped ? "interrupted" : "steps";
    while (trainer_.step() < trainer_.steps()) {
      score const last = trainer_.train();
      window.add(last);
      index_t const step = trainer_.step();
      bool const at_end = step == trainer_.steps();
      double const seconds = trainer_.seconds() - window_start;
      auto const steps =
          static_cast<double>(window.samples) / static_cast<double>(settings_.training.batch);
      progress_.show(step, window.mean_loss(), window.accuracy(), steps / seconds,
                     static_cast<std::size_t>(memory_bytes()));
      if (step % settings_.log_every == 0 || at_end) {
        log_.write(make_entry("train", window).add("steps_per_second", steps / seconds));
        window = {}, window_start = trainer_.seconds();
      }
      if ((settings_.test_every > 0 && step % settings_.test_every == 0) || at_end) test();
      if (settings_.save_every > 0 && step % settings_.save_every == 0) save();
      if (stopped || (settings_.minutes > 0 &&
                      trainer_.seconds() - before > 60 * settings_.minutes && !at_end)) {
        reason = stopped ? "interrupted" : "minutes";
        if (!stopped && (settings_.test_every == 0 || step % settings_.test_every != 0)) test();
        break;
      }
    }
    progress_.clear();
    save();
    log_.write(log_entry("end")
                   .add("step", trainer_.step())
                   .add("seconds", trainer_.seconds())
                   .add("reason", reason));
    return stopped ? interrupted : trainer_.step() < trainer_.steps() ? out_of_time : succeeded;
  }

 private:
  index_t memory_bytes() {
    return static_cast<index_t>(trainer_.step_bytes() + trainer_.parameter_bytes());
  }
  log_entry make_entry(char const* event, score const& s) const {
    log_entry line(event);
    line.add("step", trainer_.step()).add("loss", s.mean_loss()).add("accuracy", s.accuracy());
    return line.add("seconds", trainer_.seconds());
  }
  void test() {
    score const result = trainer_.test([] { return stopped == 0; });
    if (stopped) return;
    log_.write(make_entry("test", result).add("samples", result.samples));
    progress_.clear();
    std::printf("step %lld: test loss %.4f, accuracy %.2f %% of %lld\n",
                static_cast<long long>(trainer_.step()), result.mean_loss(),
                100 * result.accuracy(), static_cast<long long>(result.samples));
    std::fflush(stdout);
  }
  void save() {
    if (settings_.checkpoint.empty()) return;
    save_checkpoint(settings_.checkpoint, model_->params(),
                    metadata_of({trainer_.step(), trainer_.seconds(), settings_.identity()}));
  }
  void load() {
    run_state const saved =
        load_checkpoint(settings_.checkpoint, model_->params(), [&](metadata const& meta) {
          return parse_run_state(meta, settings_.identity(), trainer_.steps());
        });
    trainer_.resume(saved.step, saved.seconds);
  }

  settings const& settings_;
  std::unique_ptr<task> task_;
  std::unique_ptr<model<float>> model_;
  trainer trainer_;
  run_log log_;
  progress progress_;
};

int run_command(CLI::App& app, int argc, char** argv) {
  settings s(app);
  bool list = false, baselines = false;
  app.add_flag("--list", list, "print the names of all models and tasks");
  app.add_flag("--baselines,--readers", baselines,
               "print the accuracies of ListOps's baseline classifiers (--readers is deprecated)");
  task_maker make_task;
  read_flags(app, argc, argv, [&] { make_task = add_task(app, baselines ? "listops" : s.task); });
  if (list || s.shifts > 0 || baselines) {
    std::string const text = list           ? list_names()
                             : s.shifts > 0 ? shifts_as_json(s.request, s.shifts)
                                            : baselines_as_json(*make_task());
    std::fputs(text.c_str(), stdout);
    return succeeded;
  }
  run training_run(s, make_task());
  training_run.print_size();
  if (s.dry_run) return succeeded;
  return s.probe.empty() ? training_run.train() : training_run.save_probe();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, handle_signal);
  std::signal(SIGTERM, handle_signal);
  CLI::App app("Trains a model on a task.", "slicesort_train");
  try {
    return run_command(app, argc, argv);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return succeeded;
  } catch (usage_error const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return rejected;
  } catch (task_error const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return rejected;
  } catch (std::bad_alloc const&) {
    std::fputs("slicesort_train: the model needs more memory than there is\n", stderr);
    return failed;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "slicesort_train: %s\n", e.what());
    return failed;
  }
}
